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

/**
 * The turns in rounds, each considered at once: what may be simulated together up to `most` to a round, at the turn of
 * its first; everything else by itself.
 */
export function inRounds(
  turns: readonly Listed[],
  together: (variants: readonly Work[]) => boolean,
  most: number,
): Listed[][] {
  const rounds: Listed[][] = [];
  let open: Listed[] | null = null;
  for (const turn of turns) {
    if (!together(turn[1])) rounds.push([turn]);
    else if (open !== null && open.length < most) open.push(turn);
    else {
      open = [turn];
      rounds.push(open);
    }
  }
  return rounds;
}

/** So much of one source's work is looked at in a tick without running: what else there is comes with the next tick. */
export const MOST_FRUITLESS = 50;

/** Who still has turns in a tick, where many look at once. */
export class Turns {
  readonly #fruitless = new Map<number, number>();
  readonly #open = new Map<number, number>();
  readonly #waiting: (() => void)[] = [];

  /**
   * Whether a source of `variants` still has one. Waits while that depends on those under way.
   * @returns true: `end` must follow
   */
  async begin(variants: readonly Work[]): Promise<boolean> {
    for (;;) {
      const left = (counts: readonly Map<number, number>[]): boolean =>
        variants.some(({ source }) => {
          const used = counts.reduce((sum, count) => sum + (count.get(source) ?? 0), 0);
          return used < MOST_FRUITLESS;
        });
      if (!left([this.#fruitless])) return false;
      if (left([this.#fruitless, this.#open])) break;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    for (const { source } of variants) add(this.#open, source, 1);
    return true;
  }

  /** @param fruitless it came to nothing, and is charged to every source that asked for it */
  end(variants: readonly Work[], fruitless: boolean): void {
    for (const { source } of variants) {
      add(this.#open, source, -1);
      if (fruitless) add(this.#fruitless, source, 1);
    }
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function add(counts: Map<number, number>, source: number, more: number): void {
  counts.set(source, (counts.get(source) ?? 0) + more);
}
