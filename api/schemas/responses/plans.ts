/** What the builds answer (wire.md, Plans). */
import { z } from 'zod';
import { addressText, hexText, weiText } from './scalars.ts';

export const txBody = z
  .object({ to: addressText, data: hexText, value: weiText })
  .meta({ id: 'Tx', description: 'An unsigned transaction; value in wei of ETH.' });

const simulation = z
  .union([
    z.object({ ok: z.literal(true), gas: weiText.optional() }),
    z.object({ ok: z.literal(false), reason: z.string() }),
    z.object({ ok: z.null(), skipped: z.string() }),
  ])
  .meta({
    id: 'Simulation',
    description:
      'Dry run of tx as the sender: true passed (gas: a gas limit), false would revert (do not send), null not run.',
  });

export const planShape = {
  approval: z
    .object({ to: addressText, data: hexText })
    .nullable()
    .meta({ description: 'Send it first and wait until it is mined; null when none is needed.' }),
  tx: txBody,
  simulation,
  warnings: z.array(z.string()),
};

const legs = z.int().meta({ description: 'Swap legs.' });
const deadline = z.int().meta({ description: 'Unix seconds until which the order stays open.' });

export const buyPlan = z
  .object({
    ...planShape,
    amountInUsdg: weiText,
    minShares: weiText,
    estShares: z.number(),
    legs,
  })
  .meta({ id: 'BuyPlan' });

export const sellPlan = z
  .object({
    ...planShape,
    sharesWei: weiText,
    expectedUsdg: weiText,
    minOutUsdg: weiText,
    legs,
  })
  .meta({ id: 'SellPlan' });

export const exitPlan = z
  .object({
    ...planShape,
    kind: z.enum(['stop_loss', 'take_profit', 'bracket']),
    deadline,
  })
  .meta({ id: 'ExitPlan' });

export const limitPlan = z
  .object({ ...planShape, note: z.string(), deadline })
  .meta({ id: 'LimitPlan' });

export const cancelPlan = z.object(planShape).meta({ id: 'CancelPlan' });
