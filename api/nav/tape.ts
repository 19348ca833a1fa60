/**
 * The newest swaps of all pools, kept one by one as far back as a reorg may reach, and each pool's price before them.
 * Whole minutes are kept or dropped, so that any minute of the tape can be computed again from it. Pure.
 */
import { MINUTE, type Swap, startOf } from './minutes.ts';
import type { PoolPrices } from './valuation.ts';

/** More than the indexer keeps hashes for and reads again (checkpoints.ts, overlap.ts with INDEX_OVERLAP_BLOCKS). */
const KEPT_BLOCKS = 10_000;

/** A pool's price before the tape; zero: none known. */
export type Base = { sqrtPrice: bigint; block: number };

export class Tape {
  readonly base: Map<string, Base>;
  #swaps: Swap[];
  #floor: number;

  /** @param floor first minute of which every swap is still here; @param swaps in chain order. */
  constructor(base: Map<string, Base>, swaps: Swap[] = [], floor = 0) {
    this.base = base;
    this.#swaps = swaps;
    this.#floor = floor;
  }

  get swaps(): readonly Swap[] {
    return this.#swaps;
  }

  get floor(): number {
    return this.#floor;
  }

  /** Those of `swaps` that are news: not there yet, and not from minutes that were closed and dropped. */
  fresh(swaps: readonly Swap[]): Swap[] {
    const first = swaps.reduce(
      (least, { block }) => Math.min(least, block),
      Number.POSITIVE_INFINITY,
    );
    const from = this.#swaps.findLastIndex(({ block }) => block < first) + 1;
    const known = new Set(this.#swaps.slice(from).map(keyOf));
    return swaps.filter(
      (swap) => startOf(swap.time, MINUTE) >= this.#floor && !known.has(keyOf(swap)),
    );
  }

  add(fresh: readonly Swap[]): void {
    if (fresh.length === 0) return;
    const last = this.#swaps.at(-1);
    const inOrder = last === undefined || fresh.every((swap) => compare(last, swap) < 0);
    // One by one: there may be more than a function takes arguments.
    for (const swap of fresh) this.#swaps.push(swap);
    if (!inOrder) this.#swaps.sort(compare);
  }

  /** Drops swaps above a block; returns the first minute that changed, null when none did. */
  cut(block: number): number | null {
    const first = this.#swaps.find((swap) => swap.block > block);
    if (first === undefined) return null;
    this.#swaps = this.#swaps.filter((swap) => swap.block <= block);
    return startOf(first.time, MINUTE);
  }

  /** Prices at the start of a minute; without one, after everything. */
  before(minute = Number.POSITIVE_INFINITY): PoolPrices {
    const prices = new Map([...this.base].map(([pool, { sqrtPrice }]) => [pool, sqrtPrice]));
    for (const { pool, time, sqrtPrice } of this.#swaps) {
      if (time < minute) prices.set(pool, sqrtPrice);
    }
    return prices;
  }

  since(minute: number): Swap[] {
    return this.#swaps.filter(({ time }) => time >= minute);
  }

  /** Drops whole minutes that no reorg can reach any more, or up to a later floor. True when something changed. */
  prune(atLeast = 0): boolean {
    const newest = this.#swaps.at(-1)?.block ?? 0;
    // The minute of the last swap out of reach stays: whatever is in reach lies in it or later.
    const last = this.#swaps.findLast(({ block }) => block <= newest - KEPT_BLOCKS);
    const floor = Math.max(last === undefined ? 0 : startOf(last.time, MINUTE), atLeast);
    if (floor <= this.#floor) return false;
    for (const { pool, block, time, sqrtPrice } of this.#swaps) {
      if (time < floor) this.base.set(pool, { sqrtPrice, block });
    }
    this.#swaps = this.#swaps.filter(({ time }) => time >= floor);
    this.#floor = floor;
    return true;
  }

  /** With the pools of another tape that this one does not know; both end at the same block. */
  joinedBy(other: Tape): Tape {
    const floor = Math.max(this.#floor, other.floor);
    this.prune(floor);
    other.prune(floor);
    const news = new Set([...other.base.keys()].filter((pool) => !this.base.has(pool)));
    const base = new Map(this.base);
    for (const pool of news) base.set(pool, other.base.get(pool) ?? { sqrtPrice: 0n, block: 0 });
    const swaps = [...this.#swaps, ...other.swaps.filter(({ pool }) => news.has(pool))];
    return new Tape(base, swaps.sort(compare), floor);
  }
}

function keyOf({ block, logIndex }: Swap): string {
  return `${block}:${logIndex}`;
}

function compare(a: Swap, b: Swap): number {
  return a.block - b.block || a.logIndex - b.logIndex;
}
