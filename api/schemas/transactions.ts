/** Requests of the routes that build unsigned wallet transactions (interface.md section 4). Unknown keys are ignored. */
import { z } from 'zod';
import { addressSchema, hash32Schema } from '../../runtime/schema.ts';
import {
  amountUsdgSchema,
  everyHoursSchema,
  expiryDaysSchema,
  fractionSchema,
  navSchema,
  sharesSchema,
  simulateSchema,
  slippageSchema,
  tickerSchema,
} from './common.ts';

const senderSchema = addressSchema.meta({
  description: 'Address of the wallet that signs and sends the transaction.',
});

export const buyRequest = z.object({
  ticker: tickerSchema,
  amountUsdg: amountUsdgSchema,
  address: senderSchema,
  slippageBps: slippageSchema,
  simulate: simulateSchema,
});
export type BuyRequest = z.infer<typeof buyRequest>;

export const sellRequest = z
  .object({
    ticker: tickerSchema,
    address: senderSchema,
    shares: z
      .union([z.literal('max'), sharesSchema], {
        error: 'expected shares as a decimal string in 1e18 units, or "max"',
      })
      .meta({ description: 'Exact shares in 1e18 units, or "max" for the whole balance.' }),
    fraction: fractionSchema.optional(),
    slippageBps: slippageSchema,
    simulate: simulateSchema,
  })
  .refine((body) => body.fraction === undefined || body.shares === 'max', {
    path: ['fraction'],
    error: 'fraction goes with shares "max" alone',
  });
export type SellRequest = z.infer<typeof sellRequest>;

export const exitRequest = z
  .object({
    ticker: tickerSchema,
    address: senderSchema,
    shares: sharesSchema,
    stopNav: navSchema.optional(),
    tpNav: navSchema.optional(),
    expiryDays: expiryDaysSchema,
    simulate: simulateSchema,
  })
  .refine((body) => body.stopNav !== undefined || body.tpNav !== undefined, {
    error: 'give stopNav, tpNav or both',
  })
  .refine(({ stopNav, tpNav }) => stopNav === undefined || tpNav === undefined || stopNav < tpNav, {
    path: ['stopNav'],
    error: 'stopNav must be below tpNav',
  });
export type ExitRequest = z.infer<typeof exitRequest>;

export const limitRequest = z.object({
  ticker: tickerSchema,
  amountUsdg: amountUsdgSchema,
  address: senderSchema,
  triggerNav: navSchema.optional(),
  expiryDays: expiryDaysSchema,
  simulate: simulateSchema,
});
export type LimitRequest = z.infer<typeof limitRequest>;

export const cancelRequest = z.object({
  orderId: hash32Schema.meta({ description: 'Id of the order: 0x and 64 hex characters.' }),
  escrow: addressSchema.optional().meta({
    description: 'Escrow of the order; looked up in the order index when omitted.',
  }),
  address: addressSchema.optional().meta({
    description: 'Owner of the order, to simulate as; nothing is simulated without.',
  }),
  simulate: simulateSchema,
});
export type CancelRequest = z.infer<typeof cancelRequest>;

export const redeemRequest = z.object({
  ticker: tickerSchema,
  address: senderSchema,
  shares: sharesSchema,
  mode: z
    .literal('inkind', { error: 'expected "inkind"' })
    .default('inkind')
    .meta({ description: 'The constituents themselves; for USDG sell instead.' }),
  simulate: simulateSchema,
});
export type RedeemRequest = z.infer<typeof redeemRequest>;

/** A year of ten-minute slots, the most that the escrow takes. */
const MOST_BUYS = 52_560;

export const scheduleRequest = z.object({
  ticker: tickerSchema,
  amountUsdg: amountUsdgSchema.meta({ description: 'Dollars of each buy; at least 5.' }),
  buys: z
    .int('expected a whole number of buys')
    .min(1, `expected 1 to ${MOST_BUYS} buys`)
    .max(MOST_BUYS, `expected 1 to ${MOST_BUYS} buys`)
    .meta({ description: 'How many buys; all of them are escrowed at once.' }),
  everyHours: everyHoursSchema,
  address: senderSchema,
  kind: z
    .enum(['subscribe', 'twap'], { error: 'expected "subscribe" or "twap"' })
    .default('subscribe')
    .meta({ description: 'A label: the rules of both are the same.' }),
  slippageBps: z
    .int('expected a whole number of basis points')
    .min(1, 'expected 1 to 500 basis points')
    .max(500, 'expected 1 to 500 basis points')
    .optional()
    .meta({ description: 'Tolerance of each buy against the average; 100 when omitted.' }),
  simulate: simulateSchema,
});
export type ScheduleRequest = z.infer<typeof scheduleRequest>;
