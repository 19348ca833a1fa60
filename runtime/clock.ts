/** The clock for everything that waits, ages or expires inside one process. */
import { performance } from 'node:perf_hooks';

/**
 * Unix milliseconds as they were when the process started, running steadily since. `Date.now` steps back when the
 * machine's time is corrected, and whatever was to happen "in two seconds" would then happen in an hour.
 */
export function steadyNow(): number {
  return Math.floor(performance.timeOrigin + performance.now());
}
