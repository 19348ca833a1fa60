/**
 * Work of the cover market that stays listed: a step that is not taken within its hour voids a week, and money that is
 * due waits for its payout. Told by a gauge, and by `/ready` once it has waited for longer than a keeper takes.
 */
import type { KeeperMetrics } from './metrics.ts';
import { type CoverType, isCover, type Work } from './work.ts';

export type CoverWaits = {
  /** Takes note of what the sources list now. */
  saw(listed: Iterable<readonly Work[]>): void;
  /** For `/ready`; null while nothing waits for too long. */
  warning(): string | null;
};

/** How long each may be listed before an operator hears of it: steps have an hour, and a void is one that was missed. */
const PATIENCE_MS: Readonly<Record<CoverType, number>> = {
  snapshot: 300_000,
  settle: 300_000,
  void: 0,
  payout: 1_800_000,
};
const TYPES = Object.keys(PATIENCE_MS) as CoverType[];

export function createCoverWaits(parts: {
  metrics: Pick<KeeperMetrics, 'coverDue'>;
  now: () => number;
}): CoverWaits {
  const { metrics, now } = parts;
  /** Types with something listed, how much, and since when without a break. */
  const waits = new Map<CoverType, { count: number; sinceMs: number }>();
  return {
    saw(listed) {
      const counts = new Map<CoverType, number>();
      for (const [work] of listed) {
        if (work === undefined || !isCover(work)) continue;
        counts.set(work.type, (counts.get(work.type) ?? 0) + 1);
      }
      for (const type of TYPES) {
        const count = counts.get(type) ?? 0;
        metrics.coverDue.set({ type }, count);
        if (count === 0) waits.delete(type);
        else waits.set(type, { count, sinceMs: waits.get(type)?.sinceMs ?? now() });
      }
    },
    warning() {
      const late = TYPES.flatMap((type) => {
        const wait = waits.get(type);
        if (wait === undefined || now() - wait.sinceMs < PATIENCE_MS[type]) return [];
        const minutes = Math.floor((now() - wait.sinceMs) / 60_000);
        return [`${wait.count} ${type} for ${minutes} min`];
      });
      return late.length === 0
        ? null
        : `cover work waits: ${late.join(', ')}; keeper why <id> says why`;
    },
  };
}
