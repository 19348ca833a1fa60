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

/** An answer without it does not end a wait: a source may fail, or flap. */
const FORGET_MS = 60_000;
/** More than all sources list at once: who lists others each time makes nothing grow. */
const MOST = 5_000;

export function createCoverWaits(parts: {
  metrics: Pick<KeeperMetrics, 'coverDue' | 'coverWaits'>;
  now: () => number;
}): CoverWaits {
  const { metrics, now } = parts;
  /** By work: since when it is listed, and when it was last. */
  const waits = new Map<string, { type: CoverType; sinceMs: number; seenMs: number }>();
  const ofType = (type: CoverType) => [...waits.values()].filter((wait) => wait.type === type);
  const longest = (type: CoverType): number =>
    ofType(type).reduce((most, { sinceMs }) => Math.max(most, now() - sinceMs), 0);
  return {
    saw(listed) {
      const counts = new Map<CoverType, number>();
      for (const [work] of listed) {
        if (work === undefined || !isCover(work)) continue;
        const { key, type } = work;
        counts.set(type, (counts.get(type) ?? 0) + 1);
        const sinceMs = waits.get(key)?.sinceMs ?? now();
        if (waits.has(key) || waits.size < MOST) waits.set(key, { type, sinceMs, seenMs: now() });
      }
      for (const [key, { seenMs }] of waits) if (now() - seenMs > FORGET_MS) waits.delete(key);
      for (const type of TYPES) {
        metrics.coverDue.set({ type }, counts.get(type) ?? 0);
        metrics.coverWaits.set({ type }, longest(type) / 1_000);
      }
    },
    warning() {
      const late = TYPES.flatMap((type) => {
        const own = ofType(type).filter(({ sinceMs }) => now() - sinceMs >= PATIENCE_MS[type]);
        if (own.length === 0) return [];
        return [`${own.length} ${type} for up to ${Math.floor(longest(type) / 60_000)} min`];
      });
      return late.length === 0
        ? null
        : `cover work waits: ${late.join(', ')}; keeper why <id> says why`;
    },
  };
}
