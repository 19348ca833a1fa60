/**
 * Candles out of traded spans. A NAV exists at every moment, traded or not: between swaps it falls by the management
 * fee. So a candle opens at the NAV of its start, which is the close before, closes at the NAV of its end (the running
 * one: now), and its high and low are those of every moment between. A longer candle therefore has exactly the open,
 * high, low and close of the shorter ones within it, and one without a trade carries the close before on. Pure.
 */
import { startOf, type TradedSpan } from './minutes.ts';
import { type NavBasket, navOf } from './valuation.ts';

/** `t` is the start in unix seconds; NAVs in dollars x 1e18. */
export type Candle = { t: number; o: bigint; h: bigint; l: bigint; c: bigint };

export type CandleInput = {
  basket: NavBasket;
  /** Seconds. */
  span: number;
  /** Value before fees at the start of the first candle; null while there is none. */
  carried: bigint | null;
  /** In order of time; those before `first` are left out of account. */
  rows: readonly TradedSpan[];
  /** Start of the first candle wanted; earlier than genesis: from genesis on. */
  first: number;
  /** Unix seconds; ends the last candle. */
  now: number;
};

/** Every candle from `first` to the running one, without gaps. */
export function candlesOf({ basket, span, carried, rows, first, now }: CandleInput): Candle[] {
  const traded = new Map(rows.map((row) => [row.start, row]));
  const candles: Candle[] = [];
  let value = carried;
  for (let start = Math.max(first, startOf(basket.genesisAt, span)); start <= now; start += span) {
    const row = traded.get(start);
    if (value !== null)
      candles.push(candleOf(basket, start, Math.min(start + span, now), value, row));
    value = row?.value ?? value;
  }
  return candles;
}

function candleOf(
  basket: NavBasket,
  start: number,
  end: number,
  before: bigint,
  row: TradedSpan | undefined,
): Candle {
  const o = navOf(basket, before, Math.max(start, basket.genesisAt));
  const c = navOf(basket, row?.value ?? before, end);
  const points = row === undefined ? [o, c] : [o, row.high, row.low, c];
  return {
    t: start,
    o,
    h: points.reduce((a, b) => (a > b ? a : b)),
    l: points.reduce((a, b) => (a < b ? a : b)),
    c,
  };
}
