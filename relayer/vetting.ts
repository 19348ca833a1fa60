/** The checks that ask the chain: session, dry run, and who used a nonce. */
import type { Address, Hex } from 'viem';
import type { Passed } from './chain/simulator.ts';
import { sessionRefusal } from './checks/of-action.ts';
import type { Session } from './checks/session.ts';
import { pendingRefusal, tooManyPending, underwayOf, unjudgedPending } from './pending.ts';
import type { Refusal } from './refusal.ts';
import type { RelayDeps } from './relay.ts';
import { innermostRevert, refusalOfRevert } from './revert.ts';
import { senderStateOf } from './slot-state.ts';
import { executeCalldata, isTrade, type SignedAction } from './signed-action.ts';
import type { Slot, SlotId } from './slots.ts';

/** An action that passed, with the gas that it uses and the limit that it needs (no headroom), or why it cannot go. */
export type Vetted = Passed | { tag: 'refused'; refusal: Refusal };

type Signed = Pick<Slot, 'id' | 'action' | 'signature' | 'digest'>;

export type Vetting = {
  /** Nonce, grant, deadline, limits, pauses, balances: by what was read. */
  checkSession(signed: Signed, session: Session): Promise<Refusal | null>;
  /** Alone, and behind what the account has under way. */
  dryRun(signed: Signed, session: Session, pending: readonly Slot[]): Promise<Vetted>;
  /** Both, for an action whose slot is claimed already. */
  again(slot: Slot): Promise<Vetted>;
  /** NONCE_USED with the transaction that used it where it is known: the own journal first, then the chain. */
  nonceUsedRefusal(version: Pick<Slot, 'id' | 'digest'>): Promise<Refusal>;
};

const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Actions of one sort run the same code over the same pools. */
function sortOf(module: Address, action: SignedAction): string {
  return `${module}:${action.kind}:${isTrade(action) ? action.vault : ''}`;
}

export function createVetting(deps: RelayDeps): Vetting {
  const { policy, sender, slots, chain } = deps;

  const ownExecution = async (id: SlotId): Promise<{ hash: Hex; digest: Hex } | null> => {
    const slot = await slots.find(id);
    if (slot === null || slot.state === 'open') return null;
    const state = await senderStateOf(sender, slot);
    return state?.tag === 'mined' ? { hash: state.hash, digest: slot.digest } : null;
  };

  const nonceUsedRefusal: Vetting['nonceUsedRefusal'] = async ({ id, digest }) => {
    const found = (await ownExecution(id)) ?? (await chain.findExecution(id));
    if (found === null) {
      return { code: 'NONCE_USED', message: 'this nonce is used on chain' };
    }
    const executed = found.digest === digest;
    return {
      code: 'NONCE_USED',
      message: executed
        ? 'this very action was executed already'
        : 'this nonce was used by another action',
      details: { hash: found.hash, executedDigest: found.digest, executed },
    };
  };

  const checkSession = async (signed: Signed, session: Session): Promise<Refusal | null> => {
    const { action } = signed;
    // First: an action is expired only when its nonce is unused (wire.md).
    if (session.nonceUsed) return await nonceUsedRefusal(signed);
    return sessionRefusal(action, session, policy.inclusionMarginSeconds);
  };

  const dryRun = async (
    signed: Signed,
    session: Session,
    pending: readonly Slot[],
  ): Promise<Vetted> => {
    if (pending.length >= policy.maxPending) {
      return { tag: 'refused', refusal: tooManyPending(policy.maxPending) };
    }
    const wallet = sender.status().wallets.find(({ usable }) => usable);
    if (wallet === undefined) {
      const refusal = {
        code: 'PAUSED',
        check: 'wallet',
        message: 'no wallet can send now',
        retryAfterSeconds: 5,
      } as const;
      return { tag: 'refused', refusal };
    }
    const { id, action, signature } = signed;
    const call = { from: wallet.address, to: id.module, data: executeCalldata(action, signature) };
    const result = await chain.simulator.alone(call, sortOf(id.module, action));
    if (result.tag === 'reverted') {
      const refusal = refusalOfRevert(innermostRevert(result.data), action, session);
      if (refusal.code !== 'NONCE_USED') return { tag: 'refused', refusal };
      return { tag: 'refused', refusal: await nonceUsedRefusal(signed) };
    }
    if (result.limit > policy.maxGas) {
      return {
        tag: 'refused',
        refusal: {
          code: 'SIMULATION_FAILED',
          message: `the action needs ${result.limit} gas: more than the relayer spends on one`,
        },
      };
    }
    return pending.length === 0
      ? result
      : await runBehind(signed, session, pending, { call, passed: result });
  };

  /** The same once more, behind what is under way. */
  const runBehind = async (
    { action }: Signed,
    session: Session,
    pending: readonly Slot[],
    alone: { call: { from: Address; to: Address; data: Hex }; passed: Passed },
  ): Promise<Vetted> => {
    const underway = await underwayOf(
      sender,
      pending,
      (slot) => ({ to: slot.id.module, data: executeCalldata(slot.action, slot.signature) }),
      { wallet: alone.call.from, gas: policy.maxGas },
    );
    if (underway.calls.length === 0) return alone.passed;
    const last = { ...alone.call, gas: policy.maxGas };
    const behind = await chain.simulator.after(underway.calls, last);
    if (behind.tag === 'unavailable') {
      return { tag: 'refused', refusal: unjudgedPending(underway) };
    }
    if (behind.tag === 'reverted') {
      return { tag: 'refused', refusal: pendingRefusal(behind.data, action, session, underway) };
    }
    const { gas, limit } = alone.passed;
    return { tag: 'passed', gas: most(gas, behind.gas), limit: most(limit, behind.limit) };
  };

  return {
    checkSession,
    dryRun,
    nonceUsedRefusal,
    again: async (slot) => {
      const session = await chain.session(slot.action);
      const refusal = await checkSession(slot, session);
      if (refusal !== null) return { tag: 'refused', refusal };
      const pending = await slots.pendingOf(slot.id.account, session.blockTime);
      // What was accepted after it has been judged behind it.
      const before = pending.slots.filter(
        ({ digest, claimSeq }) =>
          digest !== slot.digest && (claimSeq ?? 0) < (slot.claimSeq ?? Number.POSITIVE_INFINITY),
      );
      return await dryRun(slot, session, before);
    },
  };
}
