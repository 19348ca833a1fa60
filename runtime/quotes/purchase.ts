/**
 * What a basket of so many shares costs, leg after leg. Pure. Legs through the same WETH/USDG pool are priced in the
 * order in which they run, each after what those before it spend there, so every price stands for itself: no cost is
 * drawn between two sizes whose legs take other routes.
 */
import { mulDivDown } from '../../contracts-abi/rounding.ts';
import type { WethCurves } from './plan-curves.ts';
import type { RouteCost } from './route-line.ts';

/** `tier`: of the WETH/USDG pool that the route starts in, `cost` then being of WETH; null: `cost` is of USDG. */
export type RouteOffer = { tier: number | null; cost: RouteCost };

/** `unitsFor`: token base units that so many shares take; never falls as shares grow. */
export type PricedPart = {
  unitsFor: (shares: bigint) => bigint;
  routes: readonly RouteOffer[];
};

export type SizedLeg = { route: number; amountIn: bigint };

export type Priced =
  | { tag: 'priced'; legs: readonly SizedLeg[]; spent: bigint }
  | { tag: 'unserved'; constituent: number };

export class Purchase {
  readonly #parts: readonly PricedPart[];
  readonly #curves: WethCurves;

  constructor(parts: readonly PricedPart[], curves: WethCurves) {
    this.#parts = parts;
    this.#curves = curves;
  }

  /** @param along the legs whose routes to take; without, each takes the cheapest after those before it. */
  priceOf(shares: bigint, along: readonly SizedLeg[] | null): Priced {
    const spent = new Spending(this.#curves);
    const legs: SizedLeg[] = [];
    for (const [constituent, { unitsFor, routes }] of this.#parts.entries()) {
      const units = unitsFor(shares);
      let best: SizedLeg | null = null;
      for (const [route, offer] of routes.entries()) {
        if (along !== null && along[constituent]?.route !== route) continue;
        const amountIn = spent.costOf(offer, units);
        if (amountIn === null || (best !== null && amountIn >= best.amountIn)) continue;
        best = { route, amountIn };
      }
      if (best === null) return { tag: 'unserved', constituent };
      spent.add(routes[best.route], best.amountIn);
      legs.push(best);
    }
    return { tag: 'priced', legs, spent: sumOf(legs) };
  }

  /** Whether any route of a constituent serves so many shares when it is the first. */
  serves(constituent: number, shares: bigint): boolean {
    const part = this.#parts[constituent];
    if (part === undefined) return false;
    const units = part.unitsFor(shares);
    const fresh = new Spending(this.#curves);
    return part.routes.some((offer) => fresh.costOf(offer, units) !== null);
  }

  /**
   * The legs of so many shares with all of the budget, in proportion: more of everything, the shares stay a lower
   * bound. A leg through a shared pool meets a price that the larger ones before it have moved further, so it gets what
   * it needs there; where that comes to more than the budget, all stays as it was.
   */
  stretched(shares: bigint, legs: readonly SizedLeg[], budget: bigint): readonly SizedLeg[] {
    const total = sumOf(legs);
    if (total === 0n || total >= budget) return legs;
    const spent = new Spending(this.#curves);
    const larger: SizedLeg[] = [];
    for (const [constituent, { route, amountIn }] of legs.entries()) {
      const part = this.#parts[constituent];
      const offer = part?.routes[route];
      const needed =
        part === undefined || offer === undefined
          ? null
          : spent.costOf(offer, part.unitsFor(shares));
      if (needed === null) return legs;
      const inProportion = mulDivDown(amountIn, budget, total);
      const leg = { route, amountIn: needed > inProportion ? needed : inProportion };
      spent.add(offer, leg.amountIn);
      larger.push(leg);
    }
    return sumOf(larger) <= budget ? larger : legs;
  }
}

/** What the legs so far have spent in each WETH/USDG pool. */
class Spending {
  readonly #curves: WethCurves;
  readonly #spent = new Map<number, bigint>();

  constructor(curves: WethCurves) {
    this.#curves = curves;
  }

  costOf({ tier, cost }: RouteOffer, units: bigint): bigint | null {
    const amount = cost(units);
    if (tier === null || amount === null) return amount;
    return this.#curves.get(tier)?.costAfter(this.#spent.get(tier) ?? 0n, amount) ?? null;
  }

  add(offer: RouteOffer | undefined, amountIn: bigint): void {
    const tier = offer?.tier ?? null;
    if (tier !== null) this.#spent.set(tier, (this.#spent.get(tier) ?? 0n) + amountIn);
  }
}

export function sumOf(legs: readonly SizedLeg[]): bigint {
  return legs.reduce((total, { amountIn }) => total + amountIn, 0n);
}
