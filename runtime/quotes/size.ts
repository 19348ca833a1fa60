/**
 * How many shares a budget buys, from costs quoted at a few sizes. Pure.
 *
 * The cost of n base units of a constituent along one route is convex in n (pools only get dearer). So between two
 * quoted amounts the straight line lies at or above the true cost: buying by the line never yields less than the shares
 * it promises. The line runs over the token's own base units, not over shares: shares ask for whole units, and one of a
 * token with 8 decimals may be worth a tenth of a cent. The origin (nothing, at no cost) is a quoted amount too. What
 * a pool asks lies up to two base units of USDG above the curve, since it rounds amount and fee up by themselves: the
 * line may touch the curve where the quotes at its ends were hardly rounded, so that much is added between them.
 */
import { mulDivUp } from '../../contracts-abi/rounding.ts';

/**
 * One size. `units`: token base units that it takes of each constituent, as `unitsFor` says.
 * `costs`: USDG base units, per constituent and route; null: this route cannot.
 */
export type CostSample = {
  shares: bigint;
  units: readonly bigint[];
  costs: readonly (readonly (bigint | null)[])[];
};

/** Token base units of a constituent that so many shares take; never falls as shares grow. */
export type UnitsFor = (constituent: number, shares: bigint) => bigint;

export type SizedLeg = { route: number; amountIn: bigint };

export type Sized =
  | { tag: 'sized'; shares: bigint; legs: readonly SizedLeg[]; spent: bigint }
  | { tag: 'no_route'; constituent: number };

type Best = { route: number; cost: bigint };

function bestOf(costs: readonly (bigint | null)[]): Best | null {
  let best: Best | null = null;
  costs.forEach((cost, route) => {
    if (cost !== null && (best === null || cost < best.cost)) best = { route, cost };
  });
  return best;
}

function allBest(sample: CostSample): Best[] | null {
  const best = sample.costs.map(bestOf);
  return best.every((leg) => leg !== null) ? best : null;
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

/** The first constituent that no route can serve even at the smallest size. */
function missingIn(samples: readonly CostSample[]): number {
  const [smallest] = samples;
  const index = smallest?.costs.findIndex((costs) => bestOf(costs) === null) ?? 0;
  return Math.max(index, 0);
}

/** Spends what is left of the budget in proportion: more of everything, the shares stay a lower bound. */
function spendAll(shares: bigint, best: readonly Best[], budget: bigint): Sized {
  const total = sum(best.map(({ cost }) => cost));
  const legs = best.map(({ route, cost }) => ({
    route,
    amountIn: total === 0n ? 0n : (cost * budget) / total,
  }));
  return { tag: 'sized', shares, legs, spent: sum(legs.map(({ amountIn }) => amountIn)) };
}

/**
 * The largest size whose legs together cost at most `budget`, to within what one base unit of each constituent costs.
 * @param samples ascending in shares, each with the same constituents and routes.
 */
export function sizeByBudget(
  samples: readonly CostSample[],
  budget: bigint,
  unitsFor: UnitsFor,
): Sized {
  let low: Bound | null = null;
  for (const sample of samples) {
    const best = allBest(sample);
    if (best === null) continue;
    const total = sum(best.map(({ cost }) => cost));
    if (total <= budget) {
      low = { sample, best };
      continue;
    }
    return between(low, { sample, best }, budget, unitsFor);
  }
  if (low === null) return { tag: 'no_route', constituent: missingIn(samples) };
  return spendAll(low.sample.shares, low.best, budget);
}

type Bound = { sample: CostSample; best: Best[] };

/** The line of one constituent: both ends in base units of the token and of USDG. */
type Line = {
  route: number;
  fromUnits: bigint;
  toUnits: bigint;
  from: bigint;
  to: bigint;
};

/** The route that is best at the larger size, at both sizes: the line must follow one pool. Null: not known at both. */
function lineOf(low: Bound | null, high: Bound, constituent: number): Line | null {
  const best = high.best[constituent];
  const toUnits = high.sample.units[constituent];
  if (best === undefined || toUnits === undefined) throw new RangeError('a sample without a leg');
  const { route, cost: to } = best;
  if (low === null) return { route, fromUnits: 0n, toUnits, from: 0n, to };
  const from = low.sample.costs[constituent]?.[route] ?? null;
  const fromUnits = low.sample.units[constituent];
  return from === null || fromUnits === undefined ? null : { route, fromUnits, toUnits, from, to };
}

/** USDG base units: once for the amount, once for the fee. */
const POOL_ROUNDING = 2n;

function costAt({ fromUnits, toUnits, from, to }: Line, units: bigint): bigint {
  // Both sizes take the same whole units.
  if (toUnits <= fromUnits || units >= toUnits) return to;
  if (units <= fromUnits) return from;
  const cost = from + mulDivUp(to - from, units - fromUnits, toUnits - fromUnits) + POOL_ROUNDING;
  return cost < to ? cost : to;
}

/** Steps down to a size that fits. What whole units cost above the line may not fall in a small step: each is bolder. */
const MOST_STEPS = 12;

function between(low: Bound | null, high: Bound, budget: bigint, unitsFor: UnitsFor): Sized {
  const fallback: Sized =
    low === null
      ? { tag: 'sized', shares: 0n, legs: [], spent: 0n }
      : spendAll(low.sample.shares, low.best, budget);
  const lines: Line[] = [];
  for (let constituent = 0; constituent < high.best.length; constituent += 1) {
    const line = lineOf(low, high, constituent);
    if (line === null) return fallback;
    lines.push(line);
  }
  const fromShares = low?.sample.shares ?? 0n;
  const width = high.sample.shares - fromShares;
  const rise = sum(lines.map(({ to }) => to)) - sum(lines.map(({ from }) => from));
  if (rise <= 0n) return fallback;

  let shares = high.sample.shares;
  let excess = sum(lines.map(({ to }) => to)) - budget;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    shares -= mulDivUp(excess << BigInt(step), width, rise);
    if (shares <= fromShares) return fallback;
    const legs = lines.map((line, constituent) => ({
      route: line.route,
      amountIn: costAt(line, unitsFor(constituent, shares)),
    }));
    const spent = sum(legs.map(({ amountIn }) => amountIn));
    if (spent <= budget) return { tag: 'sized', shares, legs, spent };
    excess = spent - budget;
  }
  return fallback;
}
