/** The baskets that can stand on a forked chain: those of the local chain, over the tokens that trade there. Pure. */
import { BPS, MIN_COVER_CARDINALITY } from '../../../contracts-abi/constants.ts';
import type { BasketPlan } from '../deploy/plan.ts';
import { toScaled } from '../price.ts';
import { BASKETS, REBALANCE } from '../seed/baskets.ts';
import type { LiveToken } from './discover.ts';

/** A basket is left out when less than this part of its weights trades there: it would not be what its name says. */
const LEAST_PRESENT = 0.5;

/** `seedShares` in base units: one whole share of every basket stays locked. */
export function livePlans(tokens: readonly LiveToken[], seedShares: bigint): BasketPlan[] {
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
          minLiquidity: pool.liquidity / 4n,
          statedPrice: pool.price,
        };
      }),
    });
  }
  return plans;
}
