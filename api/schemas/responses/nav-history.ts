/** What the NAV history answers, one shape per format (wire.md, Reads). */
import { z } from 'zod';
import { tickerText } from './scalars.ts';

const seconds = z.int().meta({ description: 'Start of the candle, unix seconds.' });
const dollars = z.number().meta({ description: 'Dollars per share.' });

const head = {
  ticker: tickerText,
  resolution: z.enum(['1m', '1h', '1d']),
};

const candles = z
  .object({
    ...head,
    candles: z.array(
      z
        .object({ t: seconds, o: dollars, h: dollars, l: dollars, c: dollars })
        .meta({ id: 'Candle' }),
    ),
  })
  .meta({ id: 'NavCandles', description: 'format=ohlc; the last candle is the running one.' });

const closes = z
  .object({ ...head, close: z.array(z.tuple([seconds, dollars])) })
  .meta({ id: 'NavCloses', description: 'format=close: pairs of [t, c].' });

export const navSummaryBody = z
  .object({
    ...head,
    days: z.int(),
    summary: z.object({
      candles: z.int(),
      from: z.int().optional().meta({ description: 'Start of the first candle, unix seconds.' }),
      to: z.int().optional().meta({ description: 'Start of the last candle, unix seconds.' }),
      open: dollars.optional(),
      last: dollars.optional(),
      high: dollars.optional(),
      low: dollars.optional(),
      change: z.number().optional().meta({ description: 'last / open - 1: 0.012 is +1.2%.' }),
      maxDrawdown: z.number().optional().meta({
        description: 'Deepest fall of a close below the highest close before it, as a fraction.',
      }),
      volatility: z.number().nullable().optional().meta({
        description:
          'Annualised sample standard deviation of the log returns between closes; null below two returns.',
      }),
    }),
  })
  .meta({ id: 'NavSummary', description: 'format=summary; without candles only their number.' });

export const navHistoryBody = z.union([candles, closes, navSummaryBody]);
