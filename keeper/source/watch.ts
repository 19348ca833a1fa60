/**
 * Hears from an API that other jobs are due, in the moment that they are: the keeper looks then, and not at the end of
 * its poll interval. Nothing hangs on it: who knows no such question is polled as before, and what is answered says no
 * more than that a look may be worth it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { steadyNow } from '../../runtime/clock.ts';
import { backoff } from '../policy/patience.ts';
import { getJson } from './get-json.ts';

/** How long a service is asked to wait. */
const WAIT_MS = 20_000;
/** However often a service says so, it makes us look no more often than so often in a second: once a block. */
const LOOKS_A_SECOND = 4;
/** A service that knows no such question may be replaced by one that does. */
const UNKNOWN_MS = 600_000;
const LONGEST_BACKOFF_MS = 60_000;
const MAX_BYTES = 4_096;

const changesSchema = z.object({ tag: z.string().min(1).max(64) });

export type WatchOptions = {
  /** Base URL of the service, without a trailing slash. */
  url: string;
  /** Beyond what the service is asked to wait, milliseconds. */
  timeoutMs: number;
  /** Whether nothing that it says counts any more. */
  isDropped: () => boolean;
  /** Told when other jobs are due than before. */
  onChange: () => void;
  /** Told, again and again, whether the service would tell. */
  onLive: (isLive: boolean) => void;
};

/** What it waits by. */
type Waits = {
  get: typeof getJson;
  /** Ends early, and without a fault, when the signal is aborted. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
  now: () => number;
};

const REAL: Waits = {
  get: getJson,
  pause: async (ms, signal) => {
    await delay(ms, undefined, { signal }).catch(() => undefined);
  },
  now: steadyNow,
};

/** Watches one service until the signal ends it. Never throws. */
export async function watchJobs(
  { url, timeoutMs, isDropped, onChange, onLive }: WatchOptions,
  signal: AbortSignal,
  { get, pause, now }: Waits = REAL,
): Promise<void> {
  const reading = { timeoutMs: WAIT_MS + timeoutMs, maxBytes: MAX_BYTES };
  let known: string | null = null;
  /** When it made us look, the last few times. */
  const looks: number[] = [];
  /** In a row, without a wait or an answer. */
  let idle = 0;
  while (!signal.aborted) {
    if (isDropped()) {
      onLive(false);
      await pause(LONGEST_BACKOFF_MS, signal);
      continue;
    }
    const sinceMs = now();
    const wait: Record<string, string> = { waitMs: String(WAIT_MS) };
    const query = new URLSearchParams(known === null ? {} : { unless: known, ...wait });
    const answer = await get(`${url}/v1/jobs/changes?${query.toString()}`, reading, signal);
    const told = answer.tag === 'json' ? changesSchema.safeParse(answer.json).data : undefined;
    onLive(told !== undefined);
    if (told !== undefined && told.tag !== known) {
      idle = 0;
      const [oldest] = looks.length < LOOKS_A_SECOND ? [] : looks.splice(0, 1);
      const early = oldest === undefined ? 0 : oldest + 1_000 - now();
      if (early > 0) await pause(early, signal);
      looks.push(now());
      if (known !== null && !signal.aborted) onChange();
      known = told.tag;
    } else if (told !== undefined && now() - sinceMs >= WAIT_MS / 2) {
      idle = 0;
    } else {
      const isUnknown = answer.tag === 'failed' && UNKNOWN.test(answer.why);
      await pause(isUnknown ? UNKNOWN_MS : backoff(idle, 1_000, LONGEST_BACKOFF_MS), signal);
      idle += 1;
    }
  }
}

/** Any of these says that the question is not understood. */
const UNKNOWN = /^HTTP (?:400|404|405|501)$/;
