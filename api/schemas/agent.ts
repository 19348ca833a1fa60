/** Requests of the agent routes (interface.md section 4): unknown keys are refused. */
import { z } from 'zod';
import { addressSchema, uintDigitsSchema } from '../../runtime/schema.ts';
import { amountUsdgSchema, sharesSchema, tickerSchema } from './common.ts';

const parties = {
  owner: addressSchema.meta({ description: "Public address of the account's owner." }),
  key: addressSchema.meta({ description: "Public address of the agent's key." }),
};

export const sessionQuery = z.strictObject({
  ...parties,
  pretty: z.literal('1').optional().meta({ description: '1 asks for indented JSON.' }),
});

export const tradeRequest = z
  .strictObject({
    ...parties,
    ticker: tickerSchema,
    side: z
      .enum(['buy', 'sell'], { error: 'expected "buy" or "sell"' })
      .meta({ description: 'Which way.' }),
    amountUsdg: amountUsdgSchema
      .refine((amount) => amount >= 5_000_000n, 'expected at least 5 dollars')
      .meta({ minimum: 5, description: 'Buy alone, required: the budget in dollars.' })
      .optional(),
    shares: sharesSchema
      .meta({ description: 'Sell alone, required: exact shares, 1e18 units.' })
      .optional(),
    slippageBps: z
      .int('expected a whole number of basis points')
      .min(1, 'expected 1 to 1000 basis points')
      .max(1_000, 'expected 1 to 1000 basis points')
      .optional()
      .meta({
        description:
          "All-in tolerance in basis points against the 10-minute average; omitted: 50, or the grant's cap if lower.",
      }),
    feeUsdg: uintDigitsSchema
      .default('0')
      .transform(BigInt)
      .meta({ description: 'Network fee that the action signs, USDG base units.' }),
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
