/**
 * How many shares a budget buys, from costs quoted at a few sizes. Pure.
 *
 * The cost of n shares of a constituent along one route is convex in n (pools only get dearer). So between two quoted
 * sizes the straight line lies at or above the true cost: buying by the line never yields less than the shares it
 * promises. The origin (no shares, no cost) is a quoted size too.
 */
import { mulDivUp } from '../../contracts-abi/rounding.ts';

/** Costs in USDG base units of one size, per constituent and route; null: this route cannot. */
export type CostSample = { shares: bigint; costs: readonly (readonly (bigint | null)[])[] };

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
 * The largest size whose legs together cost at most `budget`.
 * @param samples ascending in shares, each with the same constituents and routes.
 */
export function sizeByBudget(samples: readonly CostSample[], budget: bigint): Sized {
  let low: Bound | null = null;
  for (const sample of samples) {
    const best = allBest(sample);
    if (best === null) continue;
    const total = sum(best.map(({ cost }) => cost));
    if (total <= budget) {
      low = { shares: sample.shares, sample, best };
      continue;
    }
    return between(low, { shares: sample.shares, sample, best }, budget);
  }
  if (low === null) return { tag: 'no_route', constituent: missingIn(samples) };
  return spendAll(low.shares, low.best, budget);
}

type Bound = { shares: bigint; sample: CostSample | null; best: Best[] };

function between(low: Bound | null, high: Bound, budget: bigint): Sized {
  // The route that is best at the larger size, at both sizes: the line must follow one pool.
  const lines = high.best.map(({ route, cost }, constituent) => ({
    route,
    from: low === null ? 0n : (low.sample?.costs[constituent]?.[route] ?? null),
    to: cost,
  }));
  const fromShares = low?.shares ?? 0n;
  const known = lines.every((line): line is typeof line & { from: bigint } => line.from !== null);
  const fromTotal = known ? sum(lines.map(({ from }) => from)) : budget + 1n;
  // One base unit per leg is kept for rounding each of them up.
  const usable = budget - BigInt(lines.length);
  if (!known || fromTotal > usable) {
    if (low === null) return { tag: 'sized', shares: 0n, legs: [], spent: 0n };
    return spendAll(low.shares, low.best, budget);
  }
  const toTotal = sum(lines.map(({ to }) => to));
  const step = ((high.shares - fromShares) * (usable - fromTotal)) / (toTotal - fromTotal);
  const legs = lines.map(({ route, from, to }) => ({
    route,
    amountIn: from + mulDivUp(to - from, step, high.shares - fromShares),
  }));
  return {
    tag: 'sized',
    shares: fromShares + step,
    legs,
    spent: sum(legs.map(({ amountIn }) => amountIn)),
  };
}
