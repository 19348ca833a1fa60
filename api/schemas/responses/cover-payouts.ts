/** What `/v1/cover/payouts` answers (wire.md, Cover payouts for keepers). */
import { z } from 'zod';
import { txBody } from './plans.ts';
import { addressText, tickerText, weiText } from './scalars.ts';

const payoutType = z.enum(['snapshot', 'settle', 'payout', 'void']);

const payoutId = z
  .string()
  .regex(/^[0-9]+$/)
  .meta({
    description:
      'Decimal. Of a payout: the first position that it pays. Of a step: one number for its week and basket.',
  });

const payout = z
  .object({
    type: payoutType,
    contract: addressText,
    id: payoutId,
    ticker: tickerText,
    vault: addressText,
    week: z.int(),
    feeUsdg: weiText.meta({
      description: 'USDG base units to the executor, as this transaction pays now; may be "0".',
    }),
    positions: z.array(z.string()).meta({ description: 'What a payout pays; empty for a step.' }),
    tx: txBody,
  })
  .meta({ id: 'CoverPayout' });

export const coverPayoutsBody = z
  .object({
    asOf: z.iso.datetime().meta({ description: "The block's time." }),
    payouts: z.array(payout),
    skipped: z.array(z.object({ type: payoutType, id: payoutId, reason: z.string() })),
    note: z.string(),
  })
  .meta({ id: 'CoverPayouts' });
