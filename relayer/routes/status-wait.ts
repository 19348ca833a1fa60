/**
 * `?waitMs=` of the status routes: the answer is held back until it changes, at most so long. A change in this process
 * ends it at once; what other processes and the chain's clock change is seen within half a second.
 */
import type { Hex } from 'viem';
import { z } from 'zod';
import { steadyNow } from '../../runtime/clock.ts';
import type { Sender } from '../../runtime/sender/types.ts';
import { attemptOfIntent } from '../slots.ts';

const MOST_WAIT_MS = 15_000;
/** Requests held back at once; one more is answered as things stand. */
const MOST_WAITS = 1_000;
const LOOK_AGAIN_MS = 500;

/** The query of a status route; an unknown key is refused. */
export const waitQuery = {
  waitMs: z
    .string()
    .regex(/^\d{1,5}$/, `expected milliseconds, at most ${MOST_WAIT_MS}`)
    .transform(Number)
    .refine((ms) => ms <= MOST_WAIT_MS, `expected milliseconds, at most ${MOST_WAIT_MS}`)
    .default(0),
};

/** What a status route tells, and the action that it is about. */
export type Told<Body> = { body: Body; digest: Hex | null; final: boolean };

export type StatusWaits = {
  /** The first answer that differs from the one of now, or the one of now once `waitMs` have passed. */
  untilChanged<Body>(read: () => Promise<Told<Body>>, waitMs: number): Promise<Body>;
};

export function createStatusWaits(deps: {
  sender: Pick<Sender, 'onChange'>;
  /** The work's result, or null when the process stops first. */
  unlessStopped: <T>(work: Promise<T>) => Promise<T | null>;
}): StatusWaits {
  const wakes = new Map<Hex, Set<() => void>>();
  let waiting = 0;
  deps.sender.onChange(({ key }) => {
    const digest = attemptOfIntent(key)?.digest;
    for (const wake of (digest !== undefined && wakes.get(digest)) || []) wake();
  });

  /** Resolves true when the action changed or `ms` have passed. */
  const changedOrPassed = (digest: Hex | null, ms: number): Promise<true> =>
    new Promise((resolve) => {
      const own = digest === null ? null : (wakes.get(digest) ?? new Set());
      const done = (): void => {
        clearTimeout(timer);
        own?.delete(done);
        if (digest !== null && own?.size === 0) wakes.delete(digest);
        resolve(true);
      };
      const timer = setTimeout(done, ms);
      if (digest === null || own === null) return;
      own.add(done);
      wakes.set(digest, own);
    });

  return {
    untilChanged: async (read, waitMs) => {
      const until = steadyNow() + waitMs;
      const first = await read();
      if (first.final || waitMs === 0 || waiting >= MOST_WAITS) return first.body;
      const seen = JSON.stringify(first.body);
      waiting += 1;
      try {
        for (;;) {
          const left = until - steadyNow();
          if (left <= 0) return first.body;
          const wait = changedOrPassed(first.digest, Math.min(left, LOOK_AGAIN_MS));
          if ((await deps.unlessStopped(wait)) === null) return first.body;
          const { body } = await read();
          if (JSON.stringify(body) !== seen) return body;
        }
      } finally {
        waiting -= 1;
      }
    },
  };
}
