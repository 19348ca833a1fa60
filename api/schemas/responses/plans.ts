/** What the builds answer (wire.md, Plans). */
import { z } from 'zod';
import { addressText, hexText, weiText } from './scalars.ts';

const simulation = z.union([
  z.object({ ok: z.literal(true), gas: weiText.optional() }),
  z.object({ ok: z.literal(false), reason: z.string() }),
  z.object({ ok: z.null(), skipped: z.string() }),
]);

export const planShape = {
  approval: z.object({ to: addressText, data: hexText }).nullable(),
  tx: z.object({ to: addressText, data: hexText, value: weiText }),
  simulation,
  warnings: z.array(z.string()),
};

export const buyPlan = z.object({
  ...planShape,
  amountInUsdg: weiText,
  minShares: weiText,
  estShares: z.number(),
  legs: z.int(),
});
