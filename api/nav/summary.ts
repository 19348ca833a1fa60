/** A NAV history in a few numbers (interface.md section 2, wire.md Reads). Pure. */
import { toNumber } from '../../contracts-abi/rounding.ts';
import type { Candle } from './candles.ts';
import { RESOLUTIONS, type Resolution } from './resolution.ts';

export type Summary = {
  candles: number;
  /** Starts of the first and the last candle, unix seconds. */
  from?: number;
  to?: number;
  /** Dollars per share. */
  open?: number;
  last?: number;
  high?: number;
  low?: number;
  /** last / open - 1. */
  change?: number;
  /** The deepest fall of a close below the highest close before it, as a fraction of that one; 0 without a fall. */
  maxDrawdown?: number;
  /**
   * Annualised: the sample standard deviation (n - 1) of the log returns between successive closes, times the square
   * root of the candles in a year of 365 days (1m 525,600; 1h 8,760; 1d 365). Null below two returns.
   */
  volatility?: number | null;
};

export function summaryOf(candles: readonly Candle[], resolution: Resolution): Summary {
  const first = candles[0];
  const last = candles.at(-1);
  if (first === undefined || last === undefined) return { candles: 0 };
  const high = candles.reduce((most, { h }) => (h > most ? h : most), first.h);
  const low = candles.reduce((least, { l }) => (l < least ? l : least), first.l);
  const closes = candles.map(({ c }) => toNumber(c, 18));
  return {
    candles: candles.length,
    from: first.t,
    to: last.t,
    open: toNumber(first.o, 18),
    last: toNumber(last.c, 18),
    high: toNumber(high, 18),
    low: toNumber(low, 18),
    change: changeBetween(first.o, last.c) ?? 0,
    maxDrawdown: maxDrawdown(closes),
    volatility: volatility(closes, RESOLUTIONS[resolution].perYear),
  };
}

/** now / then - 1; null where there is nothing to compare with. */
export function changeBetween(then: bigint, now: bigint): number | null {
  return then === 0n ? null : Number(((now - then) * 1_000_000_000_000n) / then) / 1e12;
}

function maxDrawdown(closes: readonly number[]): number {
  let peak = 0;
  let deepest = 0;
  for (const close of closes) {
    peak = Math.max(peak, close);
    if (peak > 0) deepest = Math.max(deepest, 1 - close / peak);
  }
  return deepest;
}

function volatility(closes: readonly number[], perYear: number): number | null {
  const returns: number[] = [];
  for (let index = 1; index < closes.length; index += 1) {
    const before = closes[index - 1] ?? 0;
    const after = closes[index] ?? 0;
    if (before > 0 && after > 0) returns.push(Math.log(after / before));
  }
  if (returns.length < 2) return null;
  const mean = returns.reduce((sum, each) => sum + each, 0) / returns.length;
  const squares = returns.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return Math.sqrt(squares / (returns.length - 1)) * Math.sqrt(perYear);
}
