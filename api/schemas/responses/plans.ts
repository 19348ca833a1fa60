/** What the builds answer (wire.md, Plans). */
import { z } from 'zod';
import { addressText, hexText, weiText } from './scalars.ts';

export const txBody = z
  .object({ to: addressText, data: hexText, value: weiText })
  .meta({ id: 'Tx', description: 'An unsigned transaction; value in wei of ETH.' });

const passed = z.object({
  ok: z.literal(true),
  gas: weiText
    .optional()
    .meta({ description: 'A gas limit for tx, headroom included, in units of gas.' }),
});
const reverts = z.object({
  ok: z.literal(false),
  reason: z.string().meta({ description: "The contract's own error, decoded." }),
});
const notRun = z.object({ ok: z.null(), skipped: z.string().meta({ description: 'Why not.' }) });

const simulation = z
  .union([
    passed,
    reverts,
    notRun.extend({
      afterApproval: z.union([passed, reverts, notRun]).optional().meta({
        description:
          'Where an approval must be mined first: a dry run of the approval and then tx, in one block. ok is null where the node cannot do that.',
      }),
    }),
  ])
  .meta({
    id: 'Simulation',
    description:
      'Dry run of tx as the sender: true passed (gas: a gas limit), false would revert (do not send), null not run.',
  });

const usdgFee = (description: string) =>
  weiText.meta({ description: `USDG base units. ${description}` });

export const planShape = {
  approval: z.object({ to: addressText, data: hexText }).nullable().meta({
    description:
      'Exactly what tx needs. Send it first and wait until it is mined; null when none is needed.',
  }),
  tx: txBody,
  simulation,
  warnings: z.array(z.string()),
  asOfBlock: z
    .int()
    .meta({ description: 'Number of the block whose state the plan was made from.' }),
  expiresAt: z
    .int()
    .nullable()
    .meta({ description: 'Unix seconds after which tx can no longer be mined; null: never.' }),
  fees: z
    .object({
      mintUsdg: usdgFee('0.20% of what is swapped, of a buy or of all buys of an order.'),
      sellUsdg: usdgFee('0.20% of the proceeds of a sale; of an exit, at its higher trigger.'),
      executorUsdg: usdgFee(
        'Paid to whoever fills the order: max($0.25, 0.15%), at most 1% of each fill; an estimate.',
      ),
    })
    .meta({
      id: 'Fees',
      description: 'Fees of the plan, inside its amounts; those of the pools are in the prices.',
    }),
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

export const redeemPlan = z
  .object({
    ...planShape,
    mode: z.literal('inkind'),
    receives: z
      .array(z.object({ symbol: z.string(), token: addressText, amountWei: weiText }))
      .meta({ description: 'What arrives, at this block, in base units of each token.' }),
  })
  .meta({ id: 'RedeemPlan' });

export const schedulePlan = z
  .object({
    ...planShape,
    kind: z.enum(['subscribe', 'twap']),
    totalUsdg: weiText.meta({ description: 'USDG base units of all buys together: escrowed.' }),
    everySeconds: z.int().meta({ description: 'Seconds between two buys.' }),
    deadline: z.int().meta({ description: 'Unix seconds of the end, were tx mined at once.' }),
    note: z.string(),
  })
  .meta({ id: 'SchedulePlan' });

export const cancelPlan = z.object(planShape).meta({ id: 'CancelPlan' });
