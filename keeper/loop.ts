/** A loop that runs one tick at a time, waits between them, and ends when told: no tick overlaps another. */
import { setTimeout as delay } from 'node:timers/promises';

export type Loop = {
  /** Ends the wait at once and lets the running tick finish. */
  stop(): Promise<void>;
  /** Ends the wait at once: there is something to do now. While a tick runs, another one follows it without a wait. */
  nudge(): void;
};

/**
 * Runs `tick` now and then `intervalMs` after each end, until stopped. A tick that throws is reported and the loop
 * goes on: nothing that a tick meets may end the process's work.
 */
export function startLoop(options: {
  /** Asked after each tick. */
  intervalMs: () => number;
  tick: (signal: AbortSignal) => Promise<void>;
  onError: (error: unknown) => void;
}): Loop {
  const abort = new AbortController();
  const { signal } = abort;
  let wake = new AbortController();
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await options.tick(signal);
      } catch (error) {
        options.onError(error);
      }
      try {
        await delay(options.intervalMs(), undefined, { signal: wake.signal });
      } catch {
        // Expected: stopped or nudged while waiting.
      }
      if (!signal.aborted) wake = new AbortController();
    }
  };
  const ended = run();
  return {
    stop: async () => {
      abort.abort();
      wake.abort();
      await ended;
    },
    nudge: () => wake.abort(),
  };
}
