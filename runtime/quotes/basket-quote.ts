/**
 * Quotes of whole baskets: buys here, sales in sell-quote.ts. Each `plan…` adds its reads to the caller's batch and returns what computes the quote once
 * the batch was sent, so that state and quotes share one round trip. Never partial: a constituent without a route
 * makes the whole quote `no_route`.
 */
import { NAV_SCALE, RAY, SHARE, USD } from '../../contracts-abi/constants.ts';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { buyGrossWithin, mintFee } from '../../contracts-abi/fill-pricing.ts';
import { mulDivDown, mulDivUp } from '../../contracts-abi/rounding.ts';
import type { ReadBatch } from '../chain/read-batch.ts';
import { type PendingQuote, quoteExactOutput } from './leg-quotes.ts';
import { planBuyCurves, wethTierOf } from './plan-curves.ts';
import { Purchase, type RouteOffer, type SizedLeg } from './purchase.ts';
import type { QuotedBasket, QuotedConstituent } from './quoted-basket.ts';
import { ITSELF, type LinePoint, lineThrough } from './route-line.ts';
import type { Route } from './routes.ts';
import { sizeByBudget, sizeOf, spendAll } from './size.ts';
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
export type PendingBuy = () => BuyQuote | NoRoute;

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

/** Quotes at every size; what computes the prices of the basket once the batch was sent. */
function planPurchase(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
  feeIndex: bigint,
  sizes: readonly bigint[],
  funds: bigint,
): () => Purchase {
  const pending = basket.constituents.map((part) => {
    const unitsFor = (shares: bigint) => unitsToMint(part, shares, feeIndex);
    const amounts = sizes.map(unitsFor);
    return { unitsFor, offers: planOffers(batch, deployment, part, amounts) };
  });
  const curves = planBuyCurves(batch, deployment, basket, funds);
  return () => {
    const parts = pending.map(({ unitsFor, offers }) => ({
      unitsFor,
      routes: offers.map((offer) => offer()),
    }));
    return new Purchase(parts, curves());
  };
}

/** Every route of one constituent, in its order; USDG itself has one, which costs what it is. */
function planOffers(
  batch: ReadBatch,
  deployment: Deployment,
  part: QuotedConstituent,
  amounts: readonly bigint[],
): (() => RouteOffer)[] {
  if (part.isUsdg) return [() => ({ tier: null, cost: ITSELF })];
  return part.routes.map((route) => {
    const tier = wethTierOf(deployment, route);
    const hop = tier === null ? route[0] : route[1];
    if (hop === undefined) return () => ({ tier, cost: ITSELF });
    const quotes = [1n, ...amounts].map((amount) => ({
      units: amount,
      quote: quoteExactOutput(batch, deployment.quoterV2, hop, amount),
    }));
    return () => ({ tier, cost: lineThrough(hop.fee, served(quotes)) });
  });
}

/** Up to the first amount that the pool does not hold. */
function served(quotes: readonly { units: bigint; quote: PendingQuote }[]): LinePoint[] {
  const points: LinePoint[] = [];
  for (const { units, quote: pending } of quotes) {
    const quote = pending();
    if (quote === null) break;
    points.push({ units, quote });
  }
  return points;
}

function routeAt(part: QuotedConstituent, index: number): Route {
  const route = part.routes[index];
  if (route === undefined) throw new Error(`no route ${index} of ${part.symbol}`);
  return route;
}

export function withoutRoute(basket: QuotedBasket): NoRoute | null {
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
  const pending = planPurchase(batch, deployment, basket, now.feeIndex, sizes, gross);
  const venue = { router: deployment.swapRouter02, zapper: deployment.zapper };
  return () => {
    const sized = spendAll(pending(), sizes, gross);
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
  const [smallest] = sizes;
  if (smallest === undefined) throw new RangeError('planExactBuy: no sizes');
  const largest = sizes.at(-1) ?? smallest;
  const atSpot = mulDivUp(largest, now.spotNav ?? 0n, NAV_PER_USDG);
  const most = atSpot > grossBudget ? atSpot : grossBudget;
  const pending = planPurchase(batch, deployment, basket, now.feeIndex, sizes, most);
  const venue = { router: deployment.swapRouter02, zapper: deployment.zapper };
  return () => {
    const purchase = pending();
    const least = sizeOf(purchase, smallest);
    const fits = least.tag === 'sized' && least.spent <= grossBudget;
    const sized = fits ? sizeByBudget(purchase, sizes, grossBudget) : least;
    if (sized.tag === 'no_route') return noRouteAt(basket, sized.constituent);
    const { shares, legs, spent } = sized;
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
