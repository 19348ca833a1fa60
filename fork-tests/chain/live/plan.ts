/** What can stand on the live chain or a fork of it: the baskets of the local chain, over the tokens that trade there. */
import type { Address } from 'viem';
import { BPS, MIN_COVER_CARDINALITY } from '../../../contracts-abi/constants.ts';
import { LIVE } from '../../../contracts-abi/live-addresses.ts';
import type { ReadClient } from '../client.ts';
import { DeployError } from '../deploy/errors.ts';
import { findSafe } from '../deploy/externals.ts';
import type { BasketPlan, ProtocolPlan } from '../deploy/plan.ts';
import { toScaled } from '../price.ts';
import { BASKETS, REBALANCE } from '../seed/baskets.ts';
import type { LiveToken } from './discover.ts';

/** A reference pool must keep a quarter of the liquidity that it has now. */
const LIQUIDITY_FLOOR_DIVISOR = 4n;
/** A basket is left out when less than this part of its weights trades there: it would not be what its name says. */
const LEAST_PRESENT = 0.5;

/** Slots that one transaction adds: 22,000 gas each. */
const SLOTS_AT_ONCE = 500;

export type LivePlanOptions = Pick<
  ProtocolPlan,
  'owner' | 'guardian' | 'treasury' | 'coverWeeks'
> & {
  /** Base units of every basket; one whole share of each stays locked. */
  seedShares: bigint;
  /** Observation slots that reference pools shall have. */
  slots: number;
};

/** `tokens` as discovered, WETH among them. Throws a DeployError when nothing can stand on them. */
export async function livePlan(
  client: ReadClient,
  tokens: readonly LiveToken[],
  options: LivePlanOptions,
): Promise<ProtocolPlan> {
  const { seedShares, slots, ...rest } = options;
  const [wethPool] = tokens.find(({ symbol }) => symbol === 'WETH')?.pools ?? [];
  if (wethPool === undefined) throw new DeployError('without WETH/USDG nothing can be priced');
  const baskets = livePlans(tokens, seedShares);
  if (baskets.length === 0) throw new DeployError('too few tokens trade here: no basket can stand');
  return {
    ...rest,
    externals: { ...LIVE, ...(await findSafe(client)) },
    wethUsdgPool: wethPool.address,
    wethMinLiquidity: wethPool.liquidity / LIQUIDITY_FLOOR_DIVISOR,
    growth: growthOf(tokens, baskets, slots),
    baskets,
  };
}

function growthOf(
  tokens: readonly LiveToken[],
  baskets: readonly BasketPlan[],
  slots: number,
): ProtocolPlan['growth'] {
  const used = new Set(
    baskets.flatMap(({ constituents }) => constituents.map(({ token }) => token)),
  );
  const growth: ProtocolPlan['growth'] = [];
  for (const { symbol, address, pools } of tokens) {
    const [pool] = pools;
    if (pool === undefined || !(symbol === 'WETH' || used.has(address))) continue;
    growth.push(...growthSteps(pool.address, pool.cardinalityNext, slots));
  }
  return growth;
}

/** From what a pool provides for to `slots`, a transaction's worth at a time. */
export function growthSteps(
  pool: Address,
  cardinalityNext: number,
  slots: number,
): ProtocolPlan['growth'] {
  const steps: ProtocolPlan['growth'] = [];
  for (let at = cardinalityNext; at < slots; ) {
    const to = Math.min(at + SLOTS_AT_ONCE, slots);
    steps.push({ pool, from: at, to });
    at = to;
  }
  return steps;
}

function livePlans(tokens: readonly LiveToken[], seedShares: bigint): BasketPlan[] {
  const plans: BasketPlan[] = [];
  const remembers = ({ cardinality }: { cardinality: number }) =>
    BigInt(cardinality) >= MIN_COVER_CARDINALITY;
  const [wethPool] = tokens.find(({ symbol }) => symbol === 'WETH')?.pools ?? [];
  const wethRemembers = wethPool !== undefined && remembers(wethPool);
  for (const { weights, openingNav, cover: _, ...texts } of BASKETS) {
    const present = Object.entries(weights).flatMap(([symbol, weight]) => {
      const token = tokens.find((candidate) => candidate.symbol === symbol);
      const [pool] = token?.pools ?? [];
      return token === undefined || pool === undefined ? [] : [{ token, pool, weight }];
    });
    const total = present.reduce((sum, { weight }) => sum + weight, 0);
    // One that is about what does not trade yet has no place where real tokens are.
    if (!texts.ordersEnabled) continue;
    if (present.length < 2 || total < LEAST_PRESENT * Number(BPS)) continue;
    plans.push({
      ...texts,
      rebalance: REBALANCE,
      seedShares,
      cover: present.every(
        ({ pool }) => remembers(pool) && (pool.quote === 'USDG' || wethRemembers),
      ),
      targetWeights: Object.fromEntries(
        present.map(({ token, weight }) => [token.symbol, weight / total]),
      ),
      constituents: present.map(({ token, pool, weight }) => {
        const value = (toScaled(openingNav) * BigInt(weight)) / BigInt(total);
        return {
          token: token.address,
          genesisUnits: (value * 10n ** BigInt(token.decimals)) / pool.price,
          pool: pool.address,
          viaWeth: pool.quote === 'WETH',
          minLiquidity: pool.liquidity / LIQUIDITY_FLOOR_DIVISOR,
          statedPrice: pool.price,
        };
      }),
    });
  }
  return plans;
}
