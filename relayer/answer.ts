/** The bodies of wire.md, Relayer. Pure. */
import type { Hex } from 'viem';
import { describeRevert } from '../contracts-abi/revert.ts';
import type { IntentState, Refusal as SenderRefusal } from '../runtime/sender/types.ts';
import type { Receipt } from './receipt.ts';
import type { Refusal } from './refusal.ts';
import type { Slot } from './slots.ts';

type Answer = { status: 200 | 202; body: Record<string, unknown> };

export type Outcome = { tag: 'answered'; answer: Answer } | { tag: 'refused'; refusal: Refusal };

export const refused = (refusal: Refusal): Outcome => ({ tag: 'refused', refusal });

type Mined = Extract<IntentState, { tag: 'mined' }>;
type Broadcast = Extract<IntentState, { tag: 'broadcast' }>;
type Reverted = Extract<IntentState, { tag: 'reverted' }>;

export function minedAnswer(slot: Slot, state: Mined): Outcome {
  return {
    tag: 'answered',
    answer: {
      status: 200,
      body: {
        ok: true,
        hash: state.hash,
        blockNumber: Number(state.blockNumber),
        gasUsed: Number(state.gasUsed),
        digest: slot.digest,
        ...(slot.nextFee === null ? {} : { requiredFee: slot.nextFee.toString() }),
      },
    },
  };
}

export function pendingAnswer(slot: Slot, state: Broadcast): Outcome {
  return {
    tag: 'answered',
    answer: {
      status: 202,
      body: { ok: true, status: 'pending', hash: state.hash, digest: slot.digest },
    },
  };
}

/** A mined revert is known: the action did not run, and its nonce is unused since everything reverted. */
export function revertedRefusal(slot: Slot, state: Reverted): Refusal {
  return {
    code: 'SIMULATION_FAILED',
    message:
      'the transaction was mined and reverted: the action did not run and its nonce is unused; what it met had changed since the simulation',
    details: {
      hash: state.hash,
      digest: slot.digest,
      blockNumber: Number(state.blockNumber),
      gasUsed: Number(state.gasUsed),
    },
  };
}

/** Nobody can say yet: the client reads `nonceUsed`, or asks again with the same body. */
export function uncertainRefusal(digest: Hex, hash: Hex | null): Refusal {
  return {
    code: 'UNCERTAIN',
    message:
      'the outcome is not known yet: read nonceUsed, or post the same body again; do not build a new action before',
    details: { hash, digest },
  };
}

export function takenRefusal(slot: Slot, state: IntentState | null): Refusal {
  return {
    code: 'SLOT_TAKEN',
    message: 'this nonce already carries another action of the account',
    details: { digest: slot.digest, ...statusOf(slot, state) },
  };
}

/** Who is not told the end of an accepted action, or is told that it ran, has it signed that it was accepted. */
export function withReceipt(outcome: Outcome, receipt: Receipt | null): Outcome {
  if (receipt === null) return outcome;
  if (outcome.tag === 'answered') {
    const { status, body } = outcome.answer;
    return { tag: 'answered', answer: { status, body: { ...body, receipt } } };
  }
  const { refusal } = outcome;
  if (refusal.code !== 'UNCERTAIN') return outcome;
  return refused({ ...refusal, details: { ...refusal.details, receipt } });
}

export type ActionStatus = {
  /**
   * `unsent`: quoted or refused, nothing sent. `accepted`: will be sent. `pending`: broadcast. `mined`, `reverted`:
   * as the chain says. `dropped`: its transaction can no longer execute.
   */
  status: 'unsent' | 'accepted' | 'pending' | 'mined' | 'reverted' | 'dropped';
  hash: Hex | null;
  blockNumber?: number;
  gasUsed?: number;
  confirmed?: boolean;
};

export function statusOf(slot: Slot, state: IntentState | null): ActionStatus {
  if (slot.state === 'open') return { status: 'unsent', hash: null };
  const hash = hashOf(state);
  if (state?.tag === 'mined' || state?.tag === 'reverted') {
    return {
      status: state.tag,
      hash,
      blockNumber: Number(state.blockNumber),
      gasUsed: Number(state.gasUsed),
      confirmed: state.confirmed,
    };
  }
  if (state?.tag === 'broadcast') return { status: 'pending', hash };
  const dropped = state?.tag === 'cancelled' || state?.tag === 'superseded';
  return { status: dropped ? 'dropped' : 'accepted', hash };
}

export function hashOf(state: IntentState | null): Hex | null {
  return state !== null && 'hash' in state ? state.hash : null;
}

/** What the client is told when the sender refused an intent: in each case nothing was sent. */
export function senderRefusal(state: Extract<IntentState, { tag: 'refused' }>): Refusal {
  const { reason } = state;
  if (reason === 'reverted_in_simulation') {
    const revert = describeRevert(state.revertData);
    return {
      code: 'SIMULATION_FAILED',
      message: `the action would revert: ${revert}`,
      details: { revert },
    };
  }
  if (reason === 'expired') {
    return { code: 'EXPIRED', message: 'the deadline passed before the action could be sent' };
  }
  if (reason === 'rpc_unavailable' || reason === 'rejected_by_node') {
    return { code: 'UPSTREAM', message: 'the chain did not take the action: nothing was sent' };
  }
  if (reason === 'withdrawn') {
    return { code: 'SERVER', message: 'the slot changed meanwhile: post the same body again' };
  }
  return { code: 'PAUSED', check: 'wallet', message: PAUSED_BECAUSE[reason], retryAfterSeconds: 5 };
}

const PAUSED_BECAUSE: Readonly<
  Record<
    Exclude<
      SenderRefusal,
      'reverted_in_simulation' | 'expired' | 'rpc_unavailable' | 'rejected_by_node' | 'withdrawn'
    >,
    string
  >
> = {
  no_wallet: 'no wallet can send now',
  insufficient_eth: 'no wallet can send now',
  fee_cap: 'gas is above what the relayer pays now',
  queue_full: 'too much is waiting to be sent',
  stopping: 'the relayer is stopping',
};
