/** Quotes of sales of shares; see basket-quote.ts. */
import { RAY, SELL_FEE_BPS, SHARE } from '../../contracts-abi/constants.ts';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { bpsUp, mulDivDown, mulDivUp } from '../../contracts-abi/rounding.ts';
import type { ReadBatch } from '../chain/read-batch.ts';
import { NAV_PER_USDG, type NoRoute, type Now, withoutRoute } from './basket-quote.ts';
import { quoteExactInput } from './leg-quotes.ts';
import { planSellCurves, type WethCurves, wethTierOf } from './plan-curves.ts';
import type { QuotedBasket, QuotedConstituent } from './quoted-basket.ts';
import { type Route, reversed } from './routes.ts';
import { exactInput, type SwapCall } from './swap-call.ts';

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

export type PendingSell = () => SellQuote | NoRoute;

/** Token base units that redeeming `shares` yields: rounded down as BasketVault.previewRedeem. */
function unitsRedeemed(part: QuotedConstituent, shares: bigint, feeIndex: bigint): bigint {
  return mulDivDown(part.genesisUnits * shares, feeIndex, RAY * SHARE);
}

/** The legs that sell what `shares` redeem for, over the best routes; what no route takes is in `unrouted`. */
export function planSellLegs(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
  now: Now,
  shares: bigint,
): () => SellLegs {
  const pending = basket.constituents.map((part) => {
    const amountIn = unitsRedeemed(part, shares, now.feeIndex);
    // One base unit may be none by the time of the redemption; as dust it goes back to the seller.
    const routes = amountIn <= 1n ? [] : part.routes;
    const bids = routes.map((route) => planBid(batch, deployment, route, amountIn));
    return { part, amountIn, bids };
  });
  const worth = now.spotNav === null ? null : mulDivUp(shares, now.spotNav, NAV_PER_USDG);
  const curves = planSellCurves(batch, deployment, basket, worth);
  const venue = { router: deployment.swapRouter02, zapper: deployment.zapper };
  return () => {
    const sold: SellLegs = { gross: 0n, legs: [], swaps: [], unrouted: [] };
    const brought = new Brought(curves());
    for (const { part, amountIn, bids } of pending) {
      if (part.isUsdg) sold.gross += amountIn;
      if (part.isUsdg || amountIn <= 1n) continue;
      const best = brought.best(bids);
      if (best === null) {
        sold.unrouted.push(part);
        continue;
      }
      sold.gross += best.usdg;
      sold.legs.push({ constituent: part, amountIn, amountOut: best.usdg });
      sold.swaps.push(exactInput(venue, best.route, amountIn));
    }
    return sold;
  };
}

/** One route of one leg. `out`: USDG, or with a `tier` the WETH that goes on to the WETH/USDG pool of that fee. */
type Bid = { route: Route; tier: number | null; out: () => bigint | null };

/** @param route in the direction of a buy. */
function planBid(batch: ReadBatch, deployment: Deployment, route: Route, amountIn: bigint): Bid {
  const tier = wethTierOf(deployment, route);
  const back = reversed(route);
  if (tier !== null && back.length === 1) return { route: back, tier, out: () => amountIn };
  const quote = quoteExactInput(batch, deployment.quoterV2, back[0], amountIn);
  return { route: back, tier, out: () => quote()?.amount ?? null };
}

/** The WETH that legs so far have brought into each WETH/USDG pool. */
class Brought {
  readonly #curves: WethCurves;
  readonly #weth = new Map<number, bigint>();

  constructor(curves: WethCurves) {
    this.#curves = curves;
  }

  /** The route that yields most after the legs before it; counts it. Null: none takes the amount. */
  best(bids: readonly Bid[]): { route: Route; usdg: bigint } | null {
    let best: { bid: Bid; out: bigint; usdg: bigint } | null = null;
    for (const bid of bids) {
      const out = bid.out();
      const usdg = out === null ? null : this.#yieldOf(bid.tier, out);
      if (out === null || usdg === null || (best !== null && usdg <= best.usdg)) continue;
      best = { bid, out, usdg };
    }
    if (best === null) return null;
    const { bid, out, usdg } = best;
    if (bid.tier !== null) this.#weth.set(bid.tier, this.#before(bid.tier) + out);
    return { route: bid.route, usdg };
  }

  #yieldOf(tier: number | null, out: bigint): bigint | null {
    if (tier === null) return out;
    return this.#curves.get(tier)?.yieldAfter(this.#before(tier), out) ?? null;
  }

  #before(tier: number): bigint {
    return this.#weth.get(tier) ?? 0n;
  }
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
