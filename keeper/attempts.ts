/**
 * Attempts of a job: intent keys `<kind>:<job key>:<n>`, as `fill:<escrow>:<id>:<n>`. The next number exists only once
 * the one before came to a state that never executed, or reverted; so a job polled every second while its transaction
 * is being mined is one transaction. What recurs under one id (a schedule's slots) gets its next number a while after
 * the last was mined, when no replica can answer from before it any more.
 */
import type { Address } from 'viem';
import type { IntentState, Sender } from '../runtime/sender/types.ts';
import type { Attempt, Journal } from './journal/journal.ts';
import type { AttemptKind } from './work.ts';

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
  const stored = await sender.get(last.carrier?.key ?? last.intentKey);
  return standingAfter(last, memberState(last, stored?.state ?? null));
}

/**
 * The state of one member of a batch: that of its carrier, but reverted where the transaction was mined and the
 * member's own call failed within it.
 */
export function memberState(
  attempt: Pick<Attempt, 'carrier' | 'outcome'>,
  state: IntentState | null,
): IntentState | null {
  const failed = attempt.carrier !== null && attempt.outcome === 'reverted';
  return failed && state?.tag === 'mined' ? { ...state, tag: 'reverted' } : state;
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

/** For so long after our own transaction, "still due" is not believed: a replica may answer from before it. */
export const ECHO_MS = 120_000;

/** The number to use next where a job recurs; null while the echo of the last one may last. */
export function nextAfterMined(
  standing: Extract<Standing, { tag: 'mined' }>,
  nowMs: number,
): number | null {
  return nowMs - standing.atMs < ECHO_MS ? null : standing.attempt + 1;
}

export function intentKeyOf(kind: AttemptKind, jobKey: string, attempt: number): string {
  return `${kind}:${jobKey}:${attempt}`;
}

/** The parts of an intent key, or null for one that is not ours. */
export function parseIntentKey(
  key: string,
): { kind: AttemptKind; contract: Address; id: string } | null {
  const match =
    /^(fill|arm|foreign|snapshot|settle|payout|void):(0x[0-9a-f]{40}):(?:[a-z]+:)?(0x[0-9a-f]{64}|\d{1,78}):\d+$/.exec(
      key,
    );
  if (match === null) return null;
  return { kind: match[1] as AttemptKind, contract: match[2] as Address, id: match[3] ?? '' };
}
