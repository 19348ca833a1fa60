/** Requests of the agent routes (interface.md section 4): unknown keys are refused. */
import { z } from 'zod';
import { addressSchema, uintStringSchema } from '../../runtime/schema.ts';
import { amountUsdgSchema, sharesSchema, tickerSchema } from './common.ts';

export const sessionQuery = z.strictObject({
  owner: addressSchema,
  key: addressSchema,
  pretty: z.literal('1').optional(),
});

export const tradeRequest = z
  .strictObject({
    owner: addressSchema,
    key: addressSchema,
    ticker: tickerSchema,
    side: z.enum(['buy', 'sell'], { error: 'expected "buy" or "sell"' }),
    amountUsdg: amountUsdgSchema
      .refine((amount) => amount >= 5_000_000n, 'expected at least 5 dollars')
      .optional(),
    shares: sharesSchema.optional(),
    slippageBps: z
      .int('expected a whole number of basis points')
      .min(1, 'expected 1 to 1000 basis points')
      .max(1_000, 'expected 1 to 1000 basis points')
      .optional(),
    feeUsdg: uintStringSchema.default('0').transform(BigInt),
  })
  .superRefine((body, context) => {
    const rule = (path: 'amountUsdg' | 'shares', message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (body.side === 'buy') {
      if (body.amountUsdg === undefined) rule('amountUsdg', 'required for a buy');
      if (body.shares !== undefined) rule('shares', 'forbidden for a buy');
    } else {
      if (body.shares === undefined) rule('shares', 'required for a sell');
      if (body.amountUsdg !== undefined) rule('amountUsdg', 'forbidden for a sell');
    }
  });
export type TradeRequest = z.infer<typeof tradeRequest>;
