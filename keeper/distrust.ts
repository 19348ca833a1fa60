/** Which sources are not asked for a while, because of what they listed: policy/trust.ts, with a log and a metric. */
import type { Logger } from '../runtime/logger.ts';
import type { KeeperMetrics } from './metrics.ts';
import { drop, isDropped, strike, TRUST_RULES, TRUSTED, type Trust } from './policy/trust.ts';

export type Distrust = {
  /** The keeper's own discovery among the sources; null where there is none. */
  own: number | null;
  isDropped(source: number): boolean;
  /** Notes that `what` of this source was refused, or paid less than promised. */
  strike(source: number, what: string): void;
  /** Drops a source at once for `what`: it is no mistake. */
  drop(source: number, what: string): void;
  /** Sources that are not asked now. */
  dropped(): number[];
};

export function createDistrust(options: {
  logger: Logger;
  metrics: Pick<KeeperMetrics, 'sourcesDropped'>;
  now: () => number;
  /** The keeper's own discovery: what is found false there is told, and it is asked all the same. */
  own?: number;
}): Distrust {
  const { logger, metrics, now, own } = options;
  /** By index of the configured sources: bounded by their number. */
  const trusts = new Map<number, Trust>();

  function note(source: number, what: string, before: Trust, after: Trust): void {
    trusts.set(source, after);
    if (source === own && after !== before) {
      logger.error({ last: what }, 'own discovery listed what was found false');
    }
    if (source === own || after.drops === before.drops) return;
    metrics.sourcesDropped.inc();
    const forSeconds = Math.round((after.droppedUntilMs - now()) / 1_000);
    logger.error({ source, last: what, forSeconds }, 'a source is dropped for what it lists');
  }

  return {
    own: own ?? null,
    isDropped: (source) => source !== own && isDropped(trusts.get(source) ?? TRUSTED, now()),
    strike(source, what) {
      const before = trusts.get(source) ?? TRUSTED;
      // What was under way when it was dropped is of the same moment.
      if (isDropped(before, now())) return;
      note(source, what, before, strike(before, what, now(), TRUST_RULES));
    },
    drop(source, what) {
      const before = trusts.get(source) ?? TRUSTED;
      if (isDropped(before, now())) return;
      note(source, what, before, drop(before, now(), TRUST_RULES));
    },
    dropped: () =>
      [...trusts].filter(([at, trust]) => at !== own && isDropped(trust, now())).map(([at]) => at),
  };
}
