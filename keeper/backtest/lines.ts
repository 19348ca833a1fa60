/**
 * The lines of a recording, one JSON object each: what a session's policy was, what the sources listed at which block,
 * what was decided, and what each transaction came to. No URL, no key: a recording may be handed to somebody else.
 */
import { isAddress } from 'viem';
import { z } from 'zod';
import type { KeeperConfig } from '../config.ts';
import type { Job } from '../source/job.ts';
import type { ListedPayout } from '../source/payout.ts';

/** The settings that make a policy, under their names in the environment. */
const policySchema = z.object({
  KEEPER_MIN_PROFIT_USDG: z.number().min(0),
  KEEPER_MARGIN_PERCENT: z.int().min(0),
  KEEPER_GAS_PRICE_HEADROOM_PERCENT: z.int().min(0),
  KEEPER_FEE_TOLERANCE_BPS: z.int().min(0).max(10_000),
  KEEPER_DUTY_BUDGET_USDG: z.number().min(0),
  KEEPER_ARM: z.boolean(),
  KEEPER_BATCH_MAX: z.int().min(1),
});

export type PolicySettings = z.infer<typeof policySchema>;

export function policySettings(config: KeeperConfig): PolicySettings {
  return policySchema.parse(config);
}

const amount = z.string().regex(/^-?\d{1,78}$/);
const at = z.number();

const lineSchema = z.discriminatedUnion('t', [
  z.object({
    t: z.literal('session'),
    v: z.literal(1),
    at,
    executor: z.custom<`0x${string}`>((value) => typeof value === 'string' && isAddress(value)),
    policy: policySchema,
    /** Number of the source that is the keeper's own discovery. */
    own: z.int().min(0),
  }),
  z.object({
    t: z.literal('tick'),
    at,
    block: amount,
    /** Of each source that answered, as it told them; absent: the same as in the tick before. */
    answers: z
      .array(
        z.object({
          source: z.int().min(0),
          jobs: z.array(z.unknown()),
          payouts: z.array(z.unknown()),
        }),
      )
      .optional(),
  }),
  z.object({ t: z.literal('decision'), at, job: z.string(), decision: z.string() }),
  z.object({
    t: z.literal('outcome'),
    at,
    intent: z.string(),
    job: z.string(),
    kind: z.string(),
    outcome: z.string(),
    hash: z.string().nullable(),
    fee: amount.nullable(),
    gas: amount.nullable(),
    gasL1: amount.nullable(),
    cost: amount.nullable(),
  }),
]);

export type Line = z.infer<typeof lineSchema>;
export type SessionLine = Extract<Line, { t: 'session' }>;
export type TickLine = Extract<Line, { t: 'tick' }>;

/** Null for a line that is none: torn by a kill, or not ours. */
export function parseLine(text: string): Line | null {
  try {
    const parsed = lineSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    // expected: a process may die in the middle of a line
    return null;
  }
}

/** As the wire tells it, so that a replay reads it through the same parser as a keeper. */
export function wireJob({ feeUsdg, tx, ...job }: Job): object {
  return { ...job, feeUsdg: feeUsdg.toString(), tx: { ...tx, value: tx.value.toString() } };
}

export function wirePayout({ feeUsdg, tx, ...payout }: ListedPayout): object {
  return { ...payout, feeUsdg: feeUsdg.toString(), tx: { ...tx, value: tx.value.toString() } };
}
