/**
 * In which order listed work is considered. Pure. What a source promises is not proven, so it orders nothing but that
 * source's own work: one source after the other has its turn, and a thousand promises of one cost another one place.
 */
import { isCover, type Work } from '../work.ts';

export type Listed = readonly [key: string, variants: readonly Work[]];

/** A snapshot has an hour and holds up everybody's payout: it comes before what only pays more. */
const urgency = (work: Work): number => (isCover(work) && work.type !== 'payout' ? 0 : 1);

/**
 * Each job once, at the first turn of a source that lists it.
 * @param found by key the same job as told by each source that lists it
 * @param foremost the source that has the first turn: the keeper's own discovery
 */
export function takeTurns(
  found: ReadonlyMap<string, readonly Work[]>,
  foremost: number | null = null,
): Listed[] {
  const bySource = new Map<number, Work[]>();
  for (const variants of found.values()) {
    for (const work of variants) {
      const queue = bySource.get(work.source);
      if (queue === undefined) bySource.set(work.source, [work]);
      else queue.push(work);
    }
  }
  const queues = [...bySource]
    .toSorted(([a], [b]) => Number(b === foremost) - Number(a === foremost) || a - b)
    .map(([, queue]) =>
      queue.toSorted(
        (a, b) =>
          urgency(a) - urgency(b) ||
          (a.promisedUsdg === b.promisedUsdg ? 0 : b.promisedUsdg > a.promisedUsdg ? 1 : -1),
      ),
    );
  const turns = new Map<string, readonly Work[]>();
  const longest = queues.reduce((most, { length }) => Math.max(most, length), 0);
  for (let turn = 0; turn < longest; turn += 1) {
    for (const queue of queues) {
      const key = queue[turn]?.key;
      const variants = key === undefined ? undefined : found.get(key);
      if (key !== undefined && variants !== undefined && !turns.has(key)) turns.set(key, variants);
    }
  }
  return [...turns];
}

/** So much of one source's work is looked at in a tick without running: what else there is comes with the next tick. */
export const MOST_FRUITLESS = 50;

/** Who still has turns in a tick. */
export class Turns {
  readonly #fruitless = new Map<number, number>();

  /** Whether a source of `variants` still has one. */
  has(variants: readonly Work[]): boolean {
    return variants.some(({ source }) => (this.#fruitless.get(source) ?? 0) < MOST_FRUITLESS);
  }

  /** A look that came to nothing, charged to every source that asked for it. */
  charge(variants: readonly Work[]): void {
    for (const { source } of variants) {
      this.#fruitless.set(source, (this.#fruitless.get(source) ?? 0) + 1);
    }
  }
}
