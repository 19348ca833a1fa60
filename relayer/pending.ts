/**
 * What an account has under way: accepted, and not in a block yet. An action is judged behind it, as the block that
 * holds them will run them; one that only passes alone would be sent to revert.
 */
import type { Address, Hex } from 'viem';
import { ACTION_KIND } from '../contracts-abi/typed-data.ts';
import type { Sender } from '../runtime/sender/types.ts';
import type { SimulatedCall } from './chain/simulate.ts';
import type { Session } from './checks/session.ts';
import type { Refusal } from './refusal.ts';
import { innermostRevert, refusalOfRevert } from './revert.ts';
import { isTrade, mostSpent, type SignedAction } from './signed-action.ts';
import { senderStateOf } from './slot-state.ts';
import { intentKey, type Slot } from './slots.ts';

/** The calls of what is under way, in the order of claims; without what the chain has settled meanwhile. */
export type Underway = { slots: readonly Slot[]; calls: readonly SimulatedCall[] };

export async function underwayOf(
  sender: Pick<Sender, 'get'>,
  slots: readonly Slot[],
  callOf: (slot: Slot) => { to: Address; data: Hex },
  fallback: { wallet: Address; gas: bigint },
): Promise<Underway> {
  const known = await Promise.all(
    slots.map(async (slot) => {
      const state = await senderStateOf(sender, slot);
      if (state?.tag === 'mined' || state?.tag === 'reverted') return null;
      const stored = await sender.get(intentKey(slot.digest, slot.attempt));
      return {
        slot,
        call: {
          ...callOf(slot),
          from: state?.tag === 'broadcast' ? state.wallet : fallback.wallet,
          gas: stored?.intent.gas ?? fallback.gas,
        },
      };
    }),
  );
  const live = known.filter((one) => one !== null);
  return { slots: live.map(({ slot }) => slot), calls: live.map(({ call }) => call) };
}

/** An action that passes alone and reverts behind what is under way: it may pass again once that has ended. */
export function pendingRefusal(
  revert: Hex | null,
  action: SignedAction,
  session: Session,
  underway: Underway,
): Refusal {
  const left = leftBehind(session, action, underway.slots);
  const digests = underway.slots.map(({ digest }) => digest);
  const decoded = innermostRevert(revert);
  const details = { revert: decoded.text, pending: digests };
  const sells = isTrade(action) && action.kind === ACTION_KIND.sell;
  if (sells && left.shares !== null && left.shares < action.amount) {
    return {
      code: 'INSUFFICIENT_SHARES',
      check: 'pending',
      next: 'wait',
      message: 'actions of this account that are not mined yet sell these shares already',
      details,
    };
  }
  const refusal = refusalOfRevert(decoded, action, left);
  return {
    code: refusal.code,
    check: 'pending',
    next: 'wait',
    message: `behind the actions of this account that are not mined yet: ${refusal.message}`,
    details,
  };
}

/** What the account would have left: sales take their shares, buys at most their limit, and all pay their fee. */
function leftBehind(session: Session, judged: SignedAction, slots: readonly Slot[]): Session {
  let { usdg, shares } = session;
  for (const { action } of slots) {
    usdg -= action.fee + mostSpent(action);
    if (shares === null || !isTrade(judged) || !isTrade(action)) continue;
    if (action.kind === ACTION_KIND.sell && action.vault === judged.vault) shares -= action.amount;
  }
  return { ...session, usdg: usdg > 0n ? usdg : 0n, shares };
}

/** Too much under way to judge one more behind it. */
export function tooManyPending(most: number): Refusal {
  return {
    code: 'RATE_LIMITED',
    check: 'pending',
    message: `the account has ${most} actions that are not mined yet: wait for one of them`,
    retryAfterSeconds: 2,
  };
}

/** The node cannot run one action behind another. */
export function unjudgedPending(underway: Underway): Refusal {
  return {
    code: 'PAUSED',
    check: 'pending',
    message:
      'the account has actions that are not mined yet, and this one cannot be judged behind them: nothing was sent',
    details: { pending: underway.slots.map(({ digest }) => digest) },
    retryAfterSeconds: 2,
  };
}
