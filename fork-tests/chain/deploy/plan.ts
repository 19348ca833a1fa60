/**
 * What a deployment is built from, and its form as a file: bigints as decimal strings. Prices are dollars x 1e18 per
 * whole token.
 */
import { type Address, zeroAddress } from 'viem';
import { z } from 'zod';
import { SHARE } from '../../../contracts-abi/constants.ts';
import { deploymentSchema } from '../../../contracts-abi/deployment.ts';

const address = deploymentSchema.shape.usdg;
/** Decimal text in a file; a bigint that is already one passes, so that a plan in memory can be checked too. */
const whole = z
  .union([z.bigint(), z.string().regex(/^\d+$/, 'expected a whole number').transform(BigInt)])
  .refine((value) => value >= 0n, 'expected no negative number');

const constituentSchema = z.object({
  token: address,
  /** Token base units per share at genesis. */
  genesisUnits: whole,
  /** Reference pool; null where the token has none. */
  pool: address.nullable(),
  viaWeth: z.boolean(),
  /** The pool's floor for the harmonic mean liquidity (rule 1); zero without a pool. */
  minLiquidity: whole,
  statedPrice: whole,
});

const basketSchema = z.object({
  ticker: z.string().min(1),
  name: z.string(),
  thesis: z.string(),
  group: z.string(),
  risk: z.string(),
  riskNote: z.string(),
  rebalance: z.string(),
  ordersEnabled: z.boolean(),
  /** Listed in the cover market, with most of the cap that its pools carry. */
  cover: z.boolean(),
  managementFeeBps: z.int(),
  seedShares: whole,
  /** Symbol to share of the opening NAV, as a fraction: for the deployment file alone. */
  targetWeights: z.record(z.string(), z.number()),
  constituents: z.array(constituentSchema).min(1),
});

const externalsSchema = z.object({
  usdg: address,
  weth: address,
  multicall3: address,
  uniswapV3Factory: address,
  swapRouter02: address,
  quoterV2: address,
  /** Null: its published code stands nowhere known, so the deployment brings it. */
  safeSingleton: address.nullable(),
  safeProxyFactory: address.nullable(),
  safeFallbackHandler: address.nullable(),
});

const role = address.refine((value) => value !== zeroAddress, 'the zero address can hold no role');

export const planSchema = z.object({
  /** Of pause, registry and cover market; the deployer hands over and the owner accepts where it is another. */
  owner: role,
  guardian: role,
  treasury: role,
  externals: externalsSchema,
  wethUsdgPool: address,
  wethMinLiquidity: whole,
  /** Pools whose observation slots are raised, a step at a time: a transaction has room for some hundreds. */
  growth: z.array(
    z.object({ pool: address, from: z.int().min(1), to: z.int().min(1).max(65_535) }),
  ),
  /** Weeks of the cover market to publish, from the first that may still be; it takes 200 days' worth. */
  coverWeeks: z.int().min(0).max(27),
  baskets: z.array(basketSchema).min(1),
});

export type ConstituentPlan = z.infer<typeof constituentSchema>;
export type BasketPlan = z.infer<typeof basketSchema>;
export type PlannedExternals = z.infer<typeof externalsSchema>;
export type ProtocolPlan = z.infer<typeof planSchema>;

/** The plan as JSON text; `planSchema` reads it back. */
export function planText(plan: ProtocolPlan): string {
  return JSON.stringify(
    plan,
    (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
    2,
  );
}

/** Token base units that the deployer needs for the seed shares of these baskets. */
export function seedNeeds(baskets: readonly BasketPlan[]): Map<Address, bigint> {
  const needs = new Map<Address, bigint>();
  for (const basket of baskets) {
    for (const part of basket.constituents) {
      needs.set(part.token, (needs.get(part.token) ?? 0n) + seedAmount(basket, part));
    }
  }
  return needs;
}

/** Token base units of one constituent in a basket's seed shares, rounded up as the vault pulls them. */
export function seedAmount(
  { seedShares }: Pick<BasketPlan, 'seedShares'>,
  { genesisUnits }: Pick<ConstituentPlan, 'genesisUnits'>,
): bigint {
  return (genesisUnits * seedShares + SHARE - 1n) / SHARE;
}
