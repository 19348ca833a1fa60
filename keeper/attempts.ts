/**
 * Attempts of an order: intent keys `fill:<escrow>:<id>:<n>` and `arm:<escrow>:<id>:<n>`. The next number exists only
 * once the one before came to a state that never executed, or reverted; so an order polled every second while its
 * fill is being mined is one transaction.
 */
import type { Address, Hex } from 'viem';
import type { IntentState, Sender } from '../runtime/sender/types.ts';
import type { Attempt, AttemptKind, Journal } from './journal/journal.ts';

export type Standing =
  /** Nothing under way: `attempt` is the number to use next. */
  | { tag: 'free'; attempt: number }
  | { tag: 'in_flight'; state: IntentState }
  | { tag: 'mined'; attempt: number; atMs: number };

/** Where the newest attempt of this kind stands, by the sender's journal. */
export async function standingOf(
  kind: AttemptKind,
  jobKey: string,
  journal: Journal,
  sender: Pick<Sender, 'get'>,
): Promise<Standing> {
  const last = await journal.lastAttempt(jobKey, kind);
  if (last === null) return { tag: 'free', attempt: 1 };
  return standingAfter(last, (await sender.get(last.intentKey))?.state ?? null);
}

/** Pure part. A null state: the row was written and the process died before the sender had it. */
export function standingAfter(
  last: Pick<Attempt, 'attempt' | 'updatedMs'>,
  state: IntentState | null,
): Standing {
  if (state === null) return { tag: 'free', attempt: last.attempt };
  if (state.tag === 'queued' || state.tag === 'broadcast') return { tag: 'in_flight', state };
  if (state.tag === 'mined') return { tag: 'mined', attempt: last.attempt, atMs: last.updatedMs };
  // Reverted, refused, cancelled or superseded: it did not execute and never will.
  return { tag: 'free', attempt: last.attempt + 1 };
}

export function intentKeyOf(kind: AttemptKind, escrow: Address, id: Hex, attempt: number): string {
  return `${kind}:${escrow.toLowerCase()}:${id.toLowerCase()}:${attempt}`;
}

/** The parts of an intent key, or null for one that is not ours. */
export function parseIntentKey(
  key: string,
): { kind: AttemptKind; escrow: Address; id: Hex } | null {
  const match = /^(fill|arm):(0x[0-9a-f]{40}):(0x[0-9a-f]{64}):\d+$/.exec(key);
  if (match === null) return null;
  return { kind: match[1] as AttemptKind, escrow: match[2] as Address, id: match[3] as Hex };
}
