/**
 * How an intent stands when the client stops working on it. An intent has one nonce at a time, and the chain executes
 * at most one of all versions that were signed under a nonce: whatever is answered, nothing can run twice.
 */
import type { Hex } from 'viem';
import type { Receipt } from '../receipt.ts';

/** What the caller does after a refusal (wire.md, Relayer, `next`); `ask_host`: the host's own policy stands against it. */
export type Next = 'rebuild' | 'ask_owner' | 'wait' | 'resign_fee' | 'reconcile' | 'ask_host';

/** One of the versions that were signed ran. `fee` in USDG base units; `nextFee` what the relayer asks now, if it said so. */
export type Executed = {
  tag: 'executed';
  id: string;
  hash: Hex;
  digest: Hex;
  fee: bigint;
  nextFee: bigint | null;
};

/** Nothing of this nonce ran or ever will: the intent may begin again under another nonce. */
export type NeverExecuted = {
  tag: 'neverExecuted';
  id: string;
  /** `never_signed`: no signature existed. `hash`: the transaction that used the nonce, where it is known. */
  reason: 'expired' | 'nonce_used_elsewhere' | 'never_signed';
  hash: Hex | null;
};

/**
 * Refused. Where `openUntil` is a time (unix seconds by the chain's clock) a signature is out and good until then: call
 * `run` again with the same id, which goes on under the same nonce, so that at most one of the versions runs.
 */
export type Refused = {
  tag: 'refused';
  id: string;
  /** Who refused: the host's policy (nothing was signed for this plan), or the relayer. */
  by: 'policy' | 'relayer';
  code: string;
  message: string;
  next: Next;
  retryAfterSeconds: number | null;
  openUntil: number | null;
};

/** Nobody could say in time. The intent stays open: call `settle` or `run` with the same id later, build nothing else for it. */
export type Unknown = {
  tag: 'unknown';
  id: string;
  digest: Hex;
  /** Known transaction, which may not be mined. */
  hash: Hex | null;
  nonce: bigint;
  openUntil: number;
  /** The relayer's signed acceptance of it, where there is one. */
  receipt: Receipt | null;
  message: string;
};

export type Outcome = Executed | NeverExecuted | Refused | Unknown;

/** Ends that are written down and never change. */
export type Settled = Executed | NeverExecuted;

/** The host's policy stands against a plan: which field, why, and what then; `ask_host` where it does not say. */
export type Violation = { field: string; reason: string; next?: Next };

export function violation(field: string, reason: string): Violation {
  return { field, reason };
}
