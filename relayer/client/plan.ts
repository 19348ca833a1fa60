/** A plan as the api answers it (wire.md, Trade plan and Cover plan), read strictly where it is signed. */
import { z } from 'zod';
import {
  addressSchema,
  bytesSchema,
  firstProblem,
  uintStringSchema,
} from '../../runtime/schema.ts';
import type { Pins } from './pins.ts';
import type { Signable } from './signable.ts';

/** As many as the relayer takes. */
const MAX_DATA_BYTES = 32_768;

const uint = uintStringSchema.transform((text) => BigInt(text));
const uintNumber = (bits: number) =>
  z
    .int()
    .min(0)
    .max(2 ** bits - 1);

const common = {
  account: addressSchema,
  key: addressSchema,
  kind: uintNumber(8),
  data: bytesSchema(MAX_DATA_BYTES),
  nonce: uint,
  deadline: uintNumber(48),
  fee: uint,
};

export const tradeAction = z.strictObject({
  ...common,
  vault: addressSchema,
  amount: uint,
  limit: uint,
  slippageBps: uintNumber(16),
});
export const coverAction = z.strictObject(common);

const planOf = <A extends z.ZodType>(action: A) =>
  z.object({ action, typedData: z.unknown(), relayerUrl: z.string().optional() });

const tradePlan = planOf(tradeAction);
const coverPlan = planOf(coverAction);

/** `typedData` and `relayerUrl` as they came: the policy compares them with our own. */
export type Plan = { signable: Signable; typedData: unknown; relayerUrl: string | undefined };

/** @returns the plan, or the first field that is not as the wire format has it. */
export function readPlan(
  type: Signable['type'],
  plan: unknown,
  pins: Pins,
): { ok: true; plan: Plan } | { ok: false; problem: string } {
  if (type === 'cover') {
    const parsed = coverPlan.safeParse(plan);
    if (!parsed.success) return { ok: false, problem: firstProblem(parsed.error) };
    if (pins.coverModule === undefined) return { ok: false, problem: 'no cover module is pinned' };
    const { action, typedData, relayerUrl } = parsed.data;
    const signable = { type, module: pins.coverModule, action } as const;
    return { ok: true, plan: { signable, typedData, relayerUrl } };
  }
  const parsed = tradePlan.safeParse(plan);
  if (!parsed.success) return { ok: false, problem: firstProblem(parsed.error) };
  const { action, typedData, relayerUrl } = parsed.data;
  const signable = { type, module: pins.sessionModule, action } as const;
  return { ok: true, plan: { signable, typedData, relayerUrl } };
}
