/** What the reads of marks answer (wire.md, Reads). With `fields` only the keys asked for are there. */
import { z } from 'zod';
import { addressText, tickerText } from './scalars.ts';

const stamp = {
  asOfMs: z.int().meta({ description: 'When the marks were read, unix milliseconds.' }),
  live: z.boolean().meta({ description: 'false: the chain is out of reach, these are the last.' }),
};

const nav = z.number().nullable().meta({ description: 'Dollars per share; null without a price.' });
const change24h = z.number().nullable().meta({ description: 'Fraction: 0.012 is +1.2%.' });
const buyCostBps = z.number().nullable().meta({
  description: 'Basis points that a $1,000 buy costs beyond the mint fee (pool fees and impact).',
});
const group = z.string().meta({ description: 'Kind of basket.' });
const risk = z.string().nullable().meta({ description: 'A level, for riskier baskets alone.' });

const market = z.object({ ticker: tickerText, nav, change24h, buyCostBps, group, risk });

export const marketsBody = z
  .object({
    markets: z.array(market.partial().meta({ id: 'Market' })),
    prices: z
      .record(z.string(), z.number())
      .optional()
      .meta({ description: 'Constituent prices in dollars by symbol; absent with prices=0.' }),
    ...stamp,
  })
  .meta({ id: 'Markets' });

const summary = z.object({
  ticker: tickerText,
  name: z.string(),
  thesis: z.string(),
  vault: addressText,
  rebalance: z.string().meta({ description: 'How and when weights are set again.' }),
  mgmtFeeBps: z.int().meta({ description: 'Basis points a year, inside the NAV.' }),
  targetWeights: z
    .record(z.string(), z.number())
    .meta({ description: 'Fractions of the value by symbol.' }),
  nav,
  change24h,
  buyCostBps,
  group,
  risk,
  riskNote: z.string().nullable().meta({ description: 'The warning in plain language.' }),
});

export const basketsBody = z
  .object({ indexes: z.array(summary.partial().meta({ id: 'BasketSummary' })), ...stamp })
  .meta({ id: 'Baskets' });

const constituent = z
  .object({
    symbol: z.string(),
    address: addressText.nullable(),
    targetWeight: z.number().meta({ description: 'Fraction of the value.' }),
    price: z.number().nullable().meta({ description: 'Dollars; null without a price.' }),
  })
  .meta({ id: 'Constituent' });

export const basketBody = summary
  .extend({ constituents: z.array(constituent), ...stamp })
  .meta({ id: 'Basket' });
