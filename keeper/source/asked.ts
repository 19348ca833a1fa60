/**
 * Whoever lists work is asked by itself: a slow one's answer is used when it comes, and keeps nobody waiting whose
 * answer is there. One that does not answer in time is asked ever more seldom.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '../policy/patience.ts';
import type { SourceAnswer } from './job-source.ts';

/** What has an answer waits so long for the others. */
const GRACE_MS = 250;
/** An older answer is taken only where it came since the last look: ticks may be long, and there is no other time. */
const MOST_AGE_MS = 10_000;
/** Whoever takes longer counts as silent meanwhile. */
const SILENT_MS = 5_000;
const LONGEST_BACKOFF_MS = 30_000;
/** The name of the fault of a request that ran into its deadline. */
const TIMED_OUT = 'DeadlineError';

export class Asked {
  readonly #list: (signal: AbortSignal) => Promise<SourceAnswer>;
  readonly #now: () => number;
  #inFlight: { ended: Promise<void>; sinceMs: number } | null = null;
  #fresh: { answer: SourceAnswer; atMs: number } | null = null;
  #last: SourceAnswer | null = null;
  #timeouts = 0;
  #notBeforeMs = 0;

  /** @param list never throws */
  constructor(list: (signal: AbortSignal) => Promise<SourceAnswer>, now: () => number) {
    this.#list = list;
    this.#now = now;
  }

  /** Asks, unless it is being asked or has not answered in time a moment ago. */
  ask(signal: AbortSignal): void {
    if (this.#inFlight !== null || this.#now() < this.#notBeforeMs) return;
    const ended = this.#list(signal).then((answer) => this.#note(answer));
    this.#inFlight = { ended, sinceMs: this.#now() };
  }

  #note(answer: SourceAnswer): void {
    this.#inFlight = null;
    this.#last = answer;
    this.#fresh = { answer, atMs: this.#now() };
    this.#timeouts = isLate(answer) ? this.#timeouts + 1 : 0;
    // One of its lists is there: the other is no reason to ask for both more seldom.
    if (answer.tag === 'jobs') return;
    const ms = this.#timeouts === 0 ? 0 : backoff(this.#timeouts - 1, 1_000, LONGEST_BACKOFF_MS);
    this.#notBeforeMs = this.#now() + ms;
  }

  /** Ends when the answer has come; null where none is on its way, or where that is not to be waited for. */
  get awaited(): Promise<void> | null {
    return this.#timeouts > 0 ? null : (this.#inFlight?.ended ?? null);
  }

  /** Ends with what is on its way. */
  async quiet(): Promise<void> {
    await this.#inFlight?.ended;
  }

  hasJobs(): boolean {
    return this.#fresh?.answer.tag === 'jobs';
  }

  /** The answer that nobody has taken yet. @param lookedAtMs when answers were last taken, of whomever */
  take(lookedAtMs: number): SourceAnswer | null {
    const fresh = this.#fresh;
    this.#fresh = null;
    const oldest = Math.min(lookedAtMs, this.#now() - MOST_AGE_MS);
    return fresh === null || fresh.atMs < oldest ? null : fresh.answer;
  }

  /** The newest answer, taken or not; null before the first, and `silent` while one is long in coming. */
  last(): SourceAnswer | 'silent' | null {
    const since = this.#inFlight?.sinceMs;
    return since !== undefined && this.#now() - since > SILENT_MS ? 'silent' : this.#last;
  }
}

function isLate(answer: SourceAnswer): boolean {
  return (answer.tag === 'failed' ? answer.why : answer.payoutFault) === TIMED_OUT;
}

/**
 * The answers that are there, in the order of `asked`: all that come soon, and one with a list if any does.
 * @param lookedAtMs when answers were last taken, of whomever
 * @param signal ends the wait: own discovery may hang with the chain, and a stop does not wait for that
 */
export async function gather(
  asked: readonly Asked[],
  lookedAtMs: number,
  signal: AbortSignal,
): Promise<SourceAnswer[]> {
  const pending = new Map<Asked, Promise<void>>();
  for (const one of asked) {
    const { awaited } = one;
    if (awaited !== null)
      pending.set(
        one,
        awaited.then(() => void pending.delete(one)),
      );
  }
  const ending = new AbortController();
  const grace = { isOver: false };
  const graceEnds = delay(GRACE_MS, undefined, { signal: ending.signal }).then(
    () => {
      grace.isOver = true;
    },
    () => undefined,
  );
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true, signal: ending.signal });
  });
  const isEnough = (): boolean =>
    signal.aborted || pending.size === 0 || (grace.isOver && asked.some((one) => one.hasJobs()));
  while (!isEnough()) {
    const waits = [...pending.values(), stopped];
    await Promise.race(grace.isOver ? waits : [...waits, graceEnds]);
  }
  ending.abort();
  return asked.map((one) => one.take(lookedAtMs)).filter((answer) => answer !== null);
}
