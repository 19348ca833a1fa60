/**
 * Slots: one per (module, account, nonce), of which the chain executes at most one version (a version is an EIP-712
 * digest). Pure transitions; the rows are in slot-store.ts.
 *
 * What must hold:
 * - a slot is claimed by one digest before the sender hears of it, and stays with that digest for ever unless the
 *   sender says that nothing of it was or will be broadcast;
 * - the same digest always leads to the same intent, hence to the same transaction and the same answer;
 * - a fee is asked for only while a slot is open: never once anything may have been broadcast;
 * - a new attempt (a new intent of the same digest) begins only after the one before is known never to execute.
 */
import type { Address, Hex } from 'viem';
import type { IntentState, Refusal as SenderRefusal } from '../runtime/sender/types.ts';
import type { Quote } from './quote.ts';
import type { SignedAction } from './signed-action.ts';

export type SlotId = { module: Address; account: Address; nonce: bigint };

/** What may become of a slot: one action with one fee, as it was signed. */
export type Version = { id: SlotId; digest: Hex; action: SignedAction; signature: Hex };

export type Slot = {
  id: SlotId;
  /** `open`: nothing of it was handed over. `claimed`: its intent is, or may be, in the sender's journal. */
  state: 'open' | 'claimed';
  /** The version that the slot is at: the last one seen while open, the only one once claimed. */
  digest: Hex;
  action: SignedAction;
  signature: Hex;
  /** Counts the intents of a claimed digest, from 0. */
  attempt: number;
  /** An earlier attempt went out and is known never to execute: the slot does not open again. */
  wasBroadcast: boolean;
  quote: Quote | null;
  /** The quote at acceptance, which the answer names for the next action; USDG base units. */
  nextFee: bigint | null;
  /** Place of the claim among those of the account, from 1, and its time in unix milliseconds; null where none was. */
  claimSeq: number | null;
  claimedAt: number | null;
  /** Unix milliseconds of the last change of the row. */
  updatedAt: number;
};

export type Admission =
  /** Nothing binds the slot: this digest may become its version. */
  | { tag: 'open'; quote: Quote | null }
  /** The slot is this digest's: its intent has the answer. */
  | { tag: 'same'; slot: Slot }
  /** Another digest holds it. */
  | { tag: 'taken'; slot: Slot };

/** Where a digest stands with the slot it names. */
export function admit(slot: Slot | null, digest: Hex): Admission {
  if (slot === null) return { tag: 'open', quote: null };
  if (slot.state === 'open') return { tag: 'open', quote: slot.quote };
  return slot.digest === digest ? { tag: 'same', slot } : { tag: 'taken', slot };
}

/** The sender's key of one attempt. */
export function intentKey(digest: Hex, attempt: number): string {
  return `relay:${digest}:${attempt}`;
}

/** What a key that `intentKey` made is of; null for any other. */
export function attemptOfIntent(key: string): { digest: Hex; attempt: number } | null {
  const match = /^relay:(0x[0-9a-f]{64}):(\d+)$/.exec(key);
  return match === null ? null : { digest: match[1] as Hex, attempt: Number(match[2]) };
}

/** More than this many replaced or displaced transactions for one action point at a fault, not at bad luck. */
export const MAX_ATTEMPTS = 5;

/** What an intent's state means for the slot that it belongs to. */
export type SlotMove =
  | { tag: 'keep' }
  /** Certainly nothing was sent: open the slot (or keep it, where an earlier attempt went out). */
  | { tag: 'release'; reason: SenderRefusal }
  /** It went out, and certainly will not execute although it may still be good: begin the next attempt. */
  | { tag: 'retry' };

export function moveOf(slot: Slot, state: IntentState): SlotMove {
  if (state.tag === 'refused') return { tag: 'release', reason: state.reason };
  const dropped = state.tag === 'cancelled' || state.tag === 'superseded';
  return { tag: dropped && slot.attempt + 1 < MAX_ATTEMPTS ? 'retry' : 'keep' };
}

/** The slot after `release`. */
export function released(slot: Slot): Slot {
  return { ...slot, state: slot.wasBroadcast ? 'claimed' : 'open', attempt: slot.attempt + 1 };
}

/** The slot after `retry`. */
export function retried(slot: Slot): Slot {
  return { ...slot, attempt: slot.attempt + 1, wasBroadcast: true };
}

/**
 * What a client that knows nothing else may believe of a nonce:
 * `used` the module ran an action under it; `expired` it is unused and the deadline of the action that was posted here
 * is past by the chain's clock; `pending` that action was accepted and may still run, a reverted transaction of it
 * included, since anybody may send it again until its deadline; `free` nothing of it was accepted here.
 */
export type NonceWord = 'used' | 'expired' | 'pending' | 'free';

/** @param chain.blockTime unix seconds. */
export function nonceWord(
  slot: Pick<Slot, 'state' | 'action'> | null,
  chain: { used: boolean; blockTime: number },
): NonceWord {
  if (chain.used) return 'used';
  if (slot === null) return 'free';
  if (chain.blockTime > slot.action.deadline) return 'expired';
  return slot.state === 'claimed' ? 'pending' : 'free';
}
