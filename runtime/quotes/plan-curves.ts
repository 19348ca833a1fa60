/** How far each leg of a basket moves the WETH/USDG pool that it shares with others (shared-pool.ts). */
import { isAddressEqual } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import type { ReadBatch } from '../chain/read-batch.ts';
import { type PendingQuote, quoteExactOutput } from './leg-quotes.ts';
import type { QuotedBasket, QuotedConstituent } from './quoted-basket.ts';
import type { Route } from './routes.ts';
import { type Push, pushOf } from './shared-pool.ts';

/** Of a route, given in the direction of a buy, and the price that its swap leaves; null: it shares no pool. */
export type PushOfLeg = (route: Route, sqrtPriceAfter: bigint) => Push | null;

/** Fee tier of the WETH/USDG pool that a route goes through; null for one that needs none. */
function wethTierOf(deployment: Deployment, [first]: Route): number | null {
  return isAddressEqual(first.tokenOut, deployment.weth) ? first.fee : null;
}

/** Adds one read for each WETH/USDG pool that two constituents may share: the price at which it stands. */
export function planPushes(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
): PushOfLeg {
  const { usdg, weth, quoterV2 } = deployment;
  const standing = new Map<number, PendingQuote>();
  for (const fee of sharedTiers(basket, deployment)) {
    // One wei moves nothing: what the pool is left at is what it stands at.
    const hop = { tokenIn: usdg, tokenOut: weth, fee };
    standing.set(fee, quoteExactOutput(batch, quoterV2, [hop], 1n));
  }
  return (route, sqrtPriceAfter) => {
    const tier = wethTierOf(deployment, route);
    const before = tier === null ? null : (standing.get(tier)?.() ?? null);
    return tier === null || before === null ? null : pushOf(tier, before.sqrtPrice, sqrtPriceAfter);
  };
}

/** Tiers that routes of at least two constituents go through. */
function sharedTiers(basket: QuotedBasket, deployment: Deployment): Set<number> {
  const tiersOf = (part: QuotedConstituent) =>
    new Set(part.routes.map((route) => wethTierOf(deployment, route)));
  const once = new Set<number>();
  const shared = new Set<number>();
  for (const tier of basket.constituents.flatMap((part) => [...tiersOf(part)])) {
    if (tier === null) continue;
    if (once.has(tier)) shared.add(tier);
    once.add(tier);
  }
  return shared;
}
