/** NAV candles and their reduced forms (wire.md, Reads: `/v1/nav/{t}/history`). */
import { count, num, unixSeconds } from './formats.ts';
import { ticker } from './marks.ts';
import { array, tuple } from './collections.ts';
import { literal, nullable, object, type Rule, type Shape } from './shape.ts';

const SECONDS = { '1m': 60, '1h': 3_600, '1d': 86_400 } as const;
type Resolution = keyof typeof SECONDS;

const nav = num({ min: 0 });

/** `res` defaults by days: 1m up to 1, 1h up to 30, else 1d. */
function resolutionOf(query: URLSearchParams): Resolution {
  const asked = query.get('res');
  if (asked === '1m' || asked === '1h' || asked === '1d') return asked;
  const days = Number(query.get('days') ?? '7');
  if (days <= 1) return '1m';
  return days <= 30 ? '1h' : '1d';
}

/** Aligned to the resolution and each later than the one before. */
const times =
  <T>(seconds: number, timeOf: (row: T) => number): Rule<T[]> =>
  (rows) => {
    if (rows.length > 10_000) return 'more than 10,000 candles';
    for (const [index, row] of rows.entries()) {
      const before = rows[index - 1];
      if (timeOf(row) % seconds !== 0) return `${timeOf(row)} is not on a candle's start`;
      if (before !== undefined && timeOf(before) >= timeOf(row)) return 'times do not ascend';
    }
    return undefined;
  };

const candle = object(
  { t: unixSeconds, o: nav, h: nav, l: nav, c: nav },
  {
    rules: [
      ({ o, h, c }) => (h >= Math.max(o, c) ? undefined : 'h is below o or c'),
      ({ o, l, c }) => (l <= Math.min(o, c) ? undefined : 'l is above o or c'),
    ],
  },
);

const fraction = num({ min: -1 });

const summary = object(
  { candles: count },
  {
    optional: {
      from: unixSeconds,
      to: unixSeconds,
      open: nav,
      last: nav,
      high: nav,
      low: nav,
      change: fraction,
      maxDrawdown: num({ min: -1, max: 1 }),
      volatility: nullable(num({ min: 0 })),
    },
    rules: [
      ({ candles, ...rest }) =>
        candles > 0 || Object.values(rest).every((value) => value === undefined || value === null)
          ? undefined
          : 'figures of no candles',
      ({ from = 0, to = from }) => (from <= to ? undefined : 'from is after to'),
      ({ high, low, open = low, last = low }) => {
        if (high === undefined || low === undefined) return undefined;
        return [open, last].every((value = low) => low <= value && value <= high)
          ? undefined
          : 'open or last lie outside of low and high';
      },
    ],
  },
);

export function history(query: URLSearchParams): Shape<unknown> {
  const res = resolutionOf(query);
  const seconds = SECONDS[res];
  const head = { ticker, resolution: literal(res) };
  switch (query.get('format') ?? 'ohlc') {
    case 'close': {
      const rows = array(tuple(unixSeconds, nav), [times(seconds, ([t]) => t)]);
      return object({ ...head, close: rows }, { absent: ['candles', 'summary'] });
    }
    case 'summary': {
      const days = literal(Number(query.get('days') ?? '7'));
      return object({ ...head, days, summary }, { absent: ['candles', 'close'] });
    }
    default: {
      const rows = array(candle, [times(seconds, ({ t }) => t)]);
      return object({ ...head, candles: rows }, { absent: ['close', 'summary'] });
    }
  }
}
