/** Requests of the routes that build unsigned wallet transactions (interface.md section 4). Unknown keys are ignored. */
import { z } from 'zod';
import { addressSchema, hash32Schema } from '../../runtime/schema.ts';
import {
  amountUsdgSchema,
  expiryDaysSchema,
  fractionSchema,
  navSchema,
  sharesSchema,
  simulateSchema,
  slippageSchema,
  tickerSchema,
} from './common.ts';

export const buyRequest = z.object({
  ticker: tickerSchema,
  amountUsdg: amountUsdgSchema,
  address: addressSchema,
  slippageBps: slippageSchema,
  simulate: simulateSchema,
});
export type BuyRequest = z.infer<typeof buyRequest>;

export const sellRequest = z
  .object({
    ticker: tickerSchema,
    address: addressSchema,
    shares: z.union([z.literal('max'), sharesSchema], {
      error: 'expected shares as a decimal string in 1e18 units, or "max"',
    }),
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
    address: addressSchema,
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
  address: addressSchema,
  triggerNav: navSchema.optional(),
  expiryDays: expiryDaysSchema,
  simulate: simulateSchema,
});
export type LimitRequest = z.infer<typeof limitRequest>;

export const cancelRequest = z.object({
  orderId: hash32Schema,
  escrow: addressSchema.optional(),
  address: addressSchema.optional(),
  simulate: simulateSchema,
});
export type CancelRequest = z.infer<typeof cancelRequest>;
