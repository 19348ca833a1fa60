/** Queries and paths of the reads. */
import { z } from 'zod';
import { addressSchema } from '../../runtime/schema.ts';

const MARKET_FIELDS = ['ticker', 'nav', 'change24h', 'buyCostBps', 'group', 'risk'] as const;
export type MarketField = (typeof MARKET_FIELDS)[number];

const SUMMARY_FIELDS = [
  'ticker',
  'name',
  'thesis',
  'vault',
  'rebalance',
  'mgmtFeeBps',
  'targetWeights',
  'nav',
  'change24h',
  'buyCostBps',
  'group',
  'risk',
  'riskNote',
] as const;
export type SummaryField = (typeof SUMMARY_FIELDS)[number];

/** A comma list of known keys, in the order of `known`; absent: all. */
function fieldsSchema<const F extends string>(known: readonly F[]) {
  return z
    .string({ error: 'expected one comma-separated list of fields' })
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(z.enum(known, { error: `expected fields out of ${known.join(', ')}` })))
    .transform((asked) => known.filter((field) => asked.includes(field)))
    .optional()
    .meta({ description: `Comma-separated keys to keep of each row: ${known.join(', ')}.` });
}

export const basketsQuery = z.object({ fields: fieldsSchema(SUMMARY_FIELDS) });

export const marketsQuery = z.object({
  fields: fieldsSchema(MARKET_FIELDS),
  prices: z
    .literal('0', { error: 'expected prices=0 or no prices at all' })
    .optional()
    .meta({ description: '0 leaves constituent prices out.' }),
});

export const addressPath = z.object({
  address: addressSchema.meta({ description: 'Address of the wallet: 0x and 40 hex characters.' }),
});

/** A ticker that nobody has is UNKNOWN_BASKET, whatever its form. */
export const tickerPath = z.object({ ticker: z.string().meta({ description: 'Basket ticker.' }) });

export const jobsQuery = z.object({
  executor: addressSchema.optional().meta({
    description: 'Address that the fee is paid to in tx; absent: whoever sends it.',
  }),
});

/** Text in a query, a number from a tool: the digits of a number are what documents call an integer. */
function wholeNumber(least: number, most: number, what: string) {
  const error = `expected ${what}`;
  const digits = new RegExp(`^[0-9]{1,${String(most).length}}$`);
  return z.preprocess(
    (given: string | number) =>
      typeof given === 'string' && digits.test(given) ? Number(given) : given,
    z.int(error).min(least, error).max(most, error),
  );
}

export const jobsChangesQuery = z.object({
  unless: z.string().max(64, 'expected a tag').optional().meta({
    description: 'Tag of the jobs that are known: waits for one that is not. Absent: none are.',
  }),
  waitMs: wholeNumber(0, 30_000, 'a whole number of milliseconds, 0 to 30000')
    .default(0)
    .meta({ description: 'Longest wait in milliseconds.' }),
});

export const navHistoryQuery = z.object({
  res: z
    .enum(['1m', '1h', '1d'], { error: 'expected 1m, 1h or 1d' })
    .optional()
    .meta({ description: 'Length of a candle. Absent: 1m up to 1 day, 1h up to 30, else 1d.' }),
  days: wholeNumber(1, 365, 'a whole number of days, 1 to 365')
    .default(7)
    .meta({ description: 'Days back from now.' }),
  format: z
    .enum(['ohlc', 'close', 'summary'], { error: 'expected ohlc, close or summary' })
    .default('ohlc')
    .meta({ description: 'Candles, pairs of time and close, or a few numbers.' }),
});
