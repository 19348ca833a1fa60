/**
 * Whether a job that nobody has seen running gets a timeline. A source may list as many ids as it likes: what each of
 * them came to is counted, but only so many a minute are written down, and the rest is told in one line of the log.
 */
import type { Logger } from '../runtime/logger.ts';
import type { KeeperMetrics } from './metrics.ts';
import { Throttle } from '../runtime/throttle.ts';
import type { Work } from './work.ts';

/** Of one source. */
export const TIMELINES_A_MINUTE = 60;

export type Timelines = {
  /** Whether a source of `variants` may begin another one now; if so, it has. */
  begins(variants: readonly Work[]): boolean;
};

export function createTimelines(options: {
  logger: Pick<Logger, 'warn'>;
  metrics: Pick<KeeperMetrics, 'timelinesLeftOut'>;
  now: () => number;
  perMinute?: number;
}): Timelines {
  const { logger, metrics, now, perMinute = TIMELINES_A_MINUTE } = options;
  /** By index of the configured sources: bounded by their number. */
  const begun = new Map<number, { sinceMs: number; count: number }>();
  const leftOut = new Map<number, number>();
  const complaints = new Throttle(60_000, 100, now);

  function takes(source: number): boolean {
    const held = begun.get(source);
    if (held === undefined || now() - held.sinceMs >= 60_000) {
      begun.set(source, { sinceMs: now(), count: 1 });
      return perMinute > 0;
    }
    if (held.count >= perMinute) return false;
    held.count += 1;
    return true;
  }

  return {
    begins(variants) {
      if (variants.some(({ source }) => takes(source))) return true;
      metrics.timelinesLeftOut.inc();
      for (const { source } of variants) {
        const count = (leftOut.get(source) ?? 0) + 1;
        leftOut.set(source, count);
        if (!complaints.lets(String(source))) continue;
        leftOut.delete(source);
        logger.warn({ source, jobs: count }, 'more jobs that do not run than are written down');
      }
      return false;
    },
  };
}
