/** What the reads of marks answer (wire.md, Reads). With `fields` only the keys asked for are there. */
import { z } from 'zod';

const stamp = { asOfMs: z.int(), live: z.boolean() };

const market = z.object({
  ticker: z.string(),
  nav: z.number().nullable(),
  change24h: z.number().nullable(),
  buyCostBps: z.number().nullable(),
  group: z.string(),
  risk: z.string().nullable(),
});

export const marketsBody = z.object({
  markets: z.array(market.partial()),
  prices: z.record(z.string(), z.number()).optional(),
  ...stamp,
});
