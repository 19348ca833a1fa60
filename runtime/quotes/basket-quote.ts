/**
 * Quotes of whole baskets. Each `plan…` adds its reads to the caller's batch and returns what computes the quote once
 * the batch was sent, so that state and quotes share one round trip. Never partial: a constituent without a route
 * makes the whole quote `no_route`.
 */
import type { Address } from 'viem';
import { NAV_SCALE, RAY, SELL_FEE_BPS, SHARE, USD } from '../../contracts-abi/constants.ts';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { buyGrossWithin, mintFee } from '../../contracts-abi/fill-pricing.ts';
import { bpsUp, mulDivDown, mulDivUp } from '../../contracts-abi/rounding.ts';
import type { ReadBatch } from '../chain/read-batch.ts';
import { type PendingQuote, quoteExactInput, quoteExactOutput } from './leg-quotes.ts';
import type { QuotedBasket, QuotedConstituent } from './quoted-basket.ts';
import { type Route, reversed } from './routes.ts';
import { type PushOfLeg, planPushes } from './plan-pushes.ts';
import { type Push, SharedPools } from './shared-pool.ts';
import { type CostSample, type SizedLeg, sizeByBudget, type UnitsFor } from './size.ts';
import { exactInput, exactOutput, type SwapCall } from './swap-call.ts';

export type NoRoute = { tag: 'no_route'; symbol: string };
/** `shares` is what the swaps back at least, in the state quoted; `allIn` = gross + mint fee, USDG base units. */
type BuyQuote = {
  tag: 'quoted';
  shares: bigint;
  gross: bigint;
  fee: bigint;
  allIn: bigint;
  swaps: SwapCall[];
};
/** `net` = gross - sell fee, USDG base units. */
type SellQuote = {
  tag: 'quoted';
  gross: bigint;
  fee: bigint;
  net: bigint;
  swaps: SwapCall[];
};
/** `gross` is what the legs yield one after another, and the USDG that the basket holds itself. */
type SellLegs = {
  gross: bigint;
  legs: { constituent: QuotedConstituent; amountIn: bigint; amountOut: bigint }[];
  swaps: SwapCall[];
  unrouted: QuotedConstituent[];
};

export type PendingBuy = () => BuyQuote | NoRoute;
export type PendingSell = () => SellQuote | NoRoute;

/** What a quote needs to know of a basket at this moment; from the marks. */
export type Now = { feeIndex: bigint; spotNav: bigint | null };

/** shares x nav = dollars x 1e36; a USDG base unit is 1e30 of them. */
export const NAV_PER_USDG = (SHARE * NAV_SCALE) / USD;

/** Sizes that are quoted, relative to what the budget would buy at spot: most trades cost 0 to 2%. */
const BUDGET_SIZES_BPS = [8_800n, 9_700n, 9_950n, 10_200n];
/** Headroom of one exact-output leg; the bound on the whole is the trade's own limit. */
const LEG_HEADROOM_BPS = 11_000n;

/** Token base units that minting `shares` pulls: rounded up as BasketVault.previewMint. */
function unitsToMint(part: QuotedConstituent, shares: bigint, feeIndex: bigint): bigint {
  return mulDivUp(part.genesisUnits * shares, feeIndex, RAY * SHARE);
}

/** Token base units that redeeming `shares` yields: rounded down as BasketVault.previewRedeem. */
function unitsRedeemed(part: QuotedConstituent, shares: bigint, feeIndex: bigint): bigint {
  return mulDivDown(part.genesisUnits * shares, feeIndex, RAY * SHARE);
}

function costReads(
  batch: ReadBatch,
  quoter: Address,
  part: QuotedConstituent,
  amountOut: bigint,
): PendingQuote[] {
  if (part.isUsdg) return [() => ({ amount: amountOut, sqrtPrice: 0n })];
  return part.routes.map((route) => quoteExactOutput(batch, quoter, route, amountOut));
}

/** What each route of one constituent costs after the constituents before it; counts the cheapest of them. */
function costsInTurn(
  part: QuotedConstituent,
  quotes: readonly PendingQuote[],
  pools: SharedPools,
  pushOfLeg: PushOfLeg,
): (bigint | null)[] {
  const costs: (bigint | null)[] = [];
  let best: { cost: bigint; push: Push | null } | null = null;
  for (const [index, pending] of quotes.entries()) {
    const quote = pending();
    const route = part.routes[index];
    const push = quote === null || route === undefined ? null : pushOfLeg(route, quote.sqrtPrice);
    const cost = quote === null ? null : pools.costAfter(push, quote.amount);
    costs.push(cost);
    if (cost !== null && (best === null || cost < best.cost)) best = { cost, push };
  }
  if (best !== null) pools.took(best.push);
  return costs;
}

function costSamples(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
  sizes: readonly bigint[],
  feeIndex: bigint,
): () => CostSample[] {
  const pending = sizes.map((shares) => {
    const units = basket.constituents.map((part) => unitsToMint(part, shares, feeIndex));
    const costs = basket.constituents.map((part, index) =>
      costReads(batch, deployment.quoterV2, part, units[index] ?? 0n),
    );
    return { shares, units, costs };
  });
  const pushOfLeg = planPushes(batch, deployment, basket);
  return () =>
    pending.map(({ shares, units, costs }) => {
      const pools = new SharedPools();
      const inTurn = basket.constituents.map((part, index) =>
        costsInTurn(part, costs[index] ?? [], pools, pushOfLeg),
      );
      return { shares, units, costs: inTurn };
    });
}

function unitsOf(basket: QuotedBasket, feeIndex: bigint): UnitsFor {
  return (constituent, shares) => {
    const part = basket.constituents[constituent];
    if (part === undefined) throw new RangeError(`no constituent ${constituent}`);
    return unitsToMint(part, shares, feeIndex);
  };
}

function routeAt(part: QuotedConstituent, index: number): Route {
  const route = part.routes[index];
  if (route === undefined) throw new Error(`no route ${index} of ${part.symbol}`);
  return route;
}

function withoutRoute(basket: QuotedBasket): NoRoute | null {
  const missing = basket.constituents.find((part) => !part.isUsdg && part.routes.length === 0);
  return missing === undefined ? null : { tag: 'no_route', symbol: missing.symbol };
}

function noRouteAt(basket: QuotedBasket, index: number): NoRoute {
  return { tag: 'no_route', symbol: basket.constituents[index]?.symbol ?? '?' };
}

function eachLeg<T>(
  basket: QuotedBasket,
  legs: readonly SizedLeg[],
  use: (part: QuotedConstituent, leg: SizedLeg) => T,
): T[] {
  return basket.constituents.flatMap((part, index) => {
    const leg = legs[index];
    return part.isUsdg || leg === undefined || leg.amountIn === 0n ? [] : [use(part, leg)];
  });
}

/** A buy that spends `funds` USDG (fee included) with exact-input legs, for BasketZapper.buy. */
export function planBudgetBuy(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
  now: Now,
  funds: bigint,
): PendingBuy {
  const missing = withoutRoute(basket);
  if (missing !== null) return () => missing;
  const gross = buyGrossWithin(funds);
  // Without a spot price there is nothing to size by: the constituent without one has no pool.
  if (now.spotNav === null || now.spotNav === 0n) {
    const unpriced = basket.constituents[0]?.symbol ?? '?';
    return () => ({ tag: 'no_route', symbol: unpriced });
  }
  const atSpot = mulDivDown(gross, NAV_PER_USDG, now.spotNav);
  const sizes = BUDGET_SIZES_BPS.map((bps) => mulDivDown(atSpot, bps, 10_000n) + 1n);
  const samples = costSamples(batch, deployment, basket, sizes, now.feeIndex);
  const venue = { router: deployment.swapRouter02, zapper: deployment.zapper };
  return () => {
    const sized = sizeByBudget(samples(), gross, unitsOf(basket, now.feeIndex));
    if (sized.tag === 'no_route') return noRouteAt(basket, sized.constituent);
    const swaps = eachLeg(basket, sized.legs, (part, leg) =>
      exactInput(venue, routeAt(part, leg.route), leg.amountIn),
    );
    const fee = mintFee(sized.spent);
    return {
      tag: 'quoted',
      shares: sized.shares,
      gross: sized.spent,
      fee,
      allIn: sized.spent + fee,
      swaps,
    };
  };
}

/**
 * A buy of exact shares with exact-output legs, for BasketZapper.buyExact: the largest of `sizes` and of what lies
 * between them whose gross is within `grossBudget`, but never less than the smallest of `sizes`.
 * @param sizes ascending, not empty.
 */
export function planExactBuy(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
  now: Now,
  sizes: readonly bigint[],
  grossBudget: bigint,
): PendingBuy {
  const missing = withoutRoute(basket);
  if (missing !== null) return () => missing;
  const samples = costSamples(batch, deployment, basket, sizes, now.feeIndex);
  const venue = { router: deployment.swapRouter02, zapper: deployment.zapper };
  return () => {
    const all = samples();
    const [smallest] = all;
    if (smallest === undefined) throw new RangeError('planExactBuy: no sizes');
    const sized = sizeByBudget(all, grossBudget, unitsOf(basket, now.feeIndex));
    if (sized.tag === 'no_route') return noRouteAt(basket, sized.constituent);
    const atLeast =
      sized.shares < smallest.shares ? atSize(smallest, unitsOf(basket, now.feeIndex)) : sized;
    if (atLeast.tag === 'no_route') return noRouteAt(basket, atLeast.constituent);
    const { shares, legs, spent } = atLeast;
    const swaps = eachLeg(basket, legs, (part, leg) =>
      exactOutput(
        venue,
        routeAt(part, leg.route),
        unitsToMint(part, shares, now.feeIndex),
        mulDivUp(leg.amountIn, LEG_HEADROOM_BPS, 10_000n),
      ),
    );
    const fee = mintFee(spent);
    return { tag: 'quoted', shares, gross: spent, fee, allIn: spent + fee, swaps };
  };
}

/** The cheapest legs of exactly this size, whatever they cost. */
function atSize(sample: CostSample, unitsFor: UnitsFor): ReturnType<typeof sizeByBudget> {
  const cost = sample.costs.map((routes) =>
    routes.reduce<bigint | null>(
      (best, next) => (next === null || (best !== null && best <= next) ? best : next),
      null,
    ),
  );
  const total = cost.reduce<bigint>((sum, leg) => sum + (leg ?? 0n), 0n);
  return sizeByBudget([sample], total, unitsFor);
}

/** The legs that sell what `shares` redeem for, over the best routes; what no route takes is in `unrouted`. */
export function planSellLegs(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
  now: Pick<Now, 'feeIndex'>,
  shares: bigint,
): () => SellLegs {
  const pending = basket.constituents.map((part) => {
    const amountIn = unitsRedeemed(part, shares, now.feeIndex);
    const quotes = (amountIn <= 1n ? [] : part.routes).map((route) => {
      const back = reversed(route);
      return { route, back, quote: quoteExactInput(batch, deployment.quoterV2, back, amountIn) };
    });
    return { part, amountIn, quotes };
  });
  const pushOfLeg = planPushes(batch, deployment, basket);
  const venue = { router: deployment.swapRouter02, zapper: deployment.zapper };
  return () => {
    const sold: SellLegs = { gross: 0n, legs: [], swaps: [], unrouted: [] };
    const pools = new SharedPools();
    for (const { part, amountIn, quotes } of pending) {
      if (part.isUsdg) {
        sold.gross += amountIn;
        continue;
      }
      // One base unit may be none by the time of the redemption; as dust it goes back to the seller.
      if (amountIn <= 1n) continue;
      let best: { route: Route; amountOut: bigint; push: Push | null } | null = null;
      for (const { route, back, quote } of quotes) {
        const alone = quote();
        if (alone === null) continue;
        const push = pushOfLeg(route, alone.sqrtPrice);
        const amountOut = pools.yieldAfter(push, alone.amount);
        if (best === null || amountOut > best.amountOut) best = { route: back, amountOut, push };
      }
      if (best === null) {
        sold.unrouted.push(part);
        continue;
      }
      pools.brought(best.push);
      sold.gross += best.amountOut;
      sold.legs.push({ constituent: part, amountIn, amountOut: best.amountOut });
      sold.swaps.push(exactInput(venue, best.route, amountIn));
    }
    return sold;
  };
}

/** A sale of exactly `shares`, for BasketZapper.sell; the zapper sells what the redemption yields, if that is less. */
export function planSell(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
  now: Now,
  shares: bigint,
): PendingSell {
  const missing = withoutRoute(basket);
  if (missing !== null) return () => missing;
  const pending = planSellLegs(batch, deployment, basket, now, shares);
  return () => {
    const { gross, swaps, unrouted } = pending();
    const [first] = unrouted;
    if (first !== undefined) return { tag: 'no_route', symbol: first.symbol };
    const fee = bpsUp(gross, SELL_FEE_BPS);
    return { tag: 'quoted', gross, fee, net: gross - fee, swaps };
  };
}
