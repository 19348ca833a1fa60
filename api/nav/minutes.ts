/**
 * From swaps to the minutes of each basket. A swap changes one pool; the NAV of a basket is a joint function of all of
 * its pools, so its highest and lowest are taken from the sequence of states, block by block: what happens between
 * the transactions of one block nobody can read or trade at. Pure.
 */
import { feeIndexOf, navAt, type NavBasket, type PoolPrices, Valuation } from './valuation.ts';

export const MINUTE = 60;

export type Swap = {
  /** In lower case. */
  pool: string;
  block: number;
  logIndex: number;
  /** Unix seconds of the block. */
  time: number;
  /** The price that it left, Q64.96. */
  sqrtPrice: bigint;
};

/** A span in which a pool of the basket was traded. NAVs in dollars x 1e18, `value` before fees. */
export type TradedSpan = {
  vault: string;
  /** Unix seconds of the span's start. */
  start: number;
  /** Of the NAVs that each block with a swap found and left, at that block's time. */
  high: bigint;
  low: bigint;
  /** After the last swap of the span. */
  value: bigint;
};

export type Minutes = {
  rows: TradedSpan[];
  /** By vault: the value at genesis, of the unopened baskets whose genesis lies before the last swap; zero: none. */
  openings: Map<string, bigint>;
};

export function startOf(time: number, span: number): number {
  return time - (time % span);
}

/**
 * @param before prices at the start of a minute.
 * @param swaps all swaps from that minute on, in chain order.
 * @param unopened vaults whose opening is wanted: no swap before these ones was later than their genesis.
 */
export function minutesOf(
  baskets: readonly NavBasket[],
  before: PoolPrices,
  swaps: readonly Swap[],
  unopened: ReadonlySet<string>,
): Minutes {
  const running = baskets.map((basket) => new Valuation(basket, before));
  const hanging = byPool(running);
  const waiting = new Set(running.filter(({ basket }) => unopened.has(basket.vault)));
  const rows = new Map<string, TradedSpan>();
  const openings = new Map<string, bigint>();
  for (const block of byBlock(swaps)) {
    const time = block[0]?.time ?? 0;
    for (const valuation of waiting) {
      if (time <= valuation.basket.genesisAt) continue;
      openings.set(valuation.basket.vault, valuation.value() ?? 0n);
      waiting.delete(valuation);
    }
    // Most baskets have a fee and an age in common with others.
    const feeIndexes = new Map<string, bigint>();
    /** With the values that the block found. */
    const touched = new Map<Valuation, bigint | null>();
    for (const { pool, sqrtPrice } of block) {
      for (const valuation of hanging.get(pool) ?? []) {
        if (!touched.has(valuation)) touched.set(valuation, valuation.value());
        valuation.set(pool, sqrtPrice);
      }
    }
    for (const [valuation, found] of touched) note(rows, valuation, time, found, feeIndexes);
  }
  return { rows: [...rows.values()], openings };
}

/** The baskets that hang on each pool. */
function byPool(running: readonly Valuation[]): Map<string, Valuation[]> {
  const hanging = new Map<string, Valuation[]>();
  for (const valuation of running) {
    for (const pool of valuation.basket.pools) {
      const others = hanging.get(pool);
      if (others === undefined) hanging.set(pool, [valuation]);
      else others.push(valuation);
    }
  }
  return hanging;
}

function byBlock(swaps: readonly Swap[]): Swap[][] {
  const blocks: Swap[][] = [];
  for (const swap of swaps) {
    const last = blocks.at(-1);
    if (last?.[0]?.block === swap.block) last.push(swap);
    else blocks.push([swap]);
  }
  return blocks;
}

/** `found`: the value before the block, whose fee ran until now. */
function note(
  rows: Map<string, TradedSpan>,
  valuation: Valuation,
  time: number,
  found: bigint | null,
  feeIndexes: Map<string, bigint>,
): void {
  const { basket } = valuation;
  if (time <= basket.genesisAt) return;
  const value = valuation.value();
  if (value === null) return;
  const age = `${basket.feeRate}:${basket.genesisAt}`;
  const feeIndex = feeIndexes.get(age) ?? feeIndexOf(basket, time);
  feeIndexes.set(age, feeIndex);
  const left = navAt(value, feeIndex);
  const before = found === null ? left : navAt(found, feeIndex);
  const high = left > before ? left : before;
  const low = left < before ? left : before;
  const start = startOf(time, MINUTE);
  const key = `${basket.vault}:${start}`;
  const row = rows.get(key);
  if (row === undefined) {
    rows.set(key, { vault: basket.vault, start, high, low, value });
    return;
  }
  if (high > row.high) row.high = high;
  if (low < row.low) row.low = low;
  row.value = value;
}

/** Joins spans, in order of time, to longer ones. */
export function joined(rows: readonly TradedSpan[], span: number): TradedSpan[] {
  const longer = new Map<string, TradedSpan>();
  for (const row of rows) {
    const start = startOf(row.start, span);
    const key = `${row.vault}:${start}`;
    const known = longer.get(key);
    if (known === undefined) {
      longer.set(key, { ...row, start });
      continue;
    }
    if (row.high > known.high) known.high = row.high;
    if (row.low < known.low) known.low = row.low;
    known.value = row.value;
  }
  return [...longer.values()];
}
