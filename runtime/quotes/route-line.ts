/**
 * What any amount of a token costs along one route, from quotes at a few amounts. Pure.
 *
 * The cost of n base units is convex in n (pools only get dearer). So between two quoted amounts the straight line lies
 * at or above the true cost: buying by the line never yields less. But a swap rounds in each of its steps: what it asks
 * up, and what it has given so far down, which the last step makes up for. The line may touch the curve where the
 * quotes at its ends were hardly rounded, so it is read at a unit more for each step that may end in between, and as
 * much is added as those steps round.
 */
import { mulDivUp } from '../../contracts-abi/rounding.ts';
import type { LegQuote } from './leg-quotes.ts';
import { STEP_ROUNDING, stepsBetween, ticksBetween } from './swap-steps.ts';

/** Base units of what is paid, for so many of the token; null: more than the route is known to serve. */
export type RouteCost = (units: bigint) => bigint | null;

export type LinePoint = { units: bigint; quote: LegQuote };

/** What is paid is what is bought: USDG itself, or WETH where the rest is the curve's. */
export const ITSELF: RouteCost = (units) => units;

/**
 * @param points ascending in units, of the pool of this fee tier; the first one is of a single unit, so that its price
 * is the one at which the pool stands.
 */
export function lineThrough(fee: number, points: readonly LinePoint[]): RouteCost {
  return (units) => {
    if (units === 0n) return 0n;
    const at = points.findIndex((point) => units <= point.units);
    const [from, to] = [points[at - 1], points[at]];
    if (to === undefined) return null;
    return from === undefined || units === to.units
      ? to.quote.amount
      : costBetween(fee, from, to, units);
  };
}

function costBetween(fee: number, from: LinePoint, to: LinePoint, units: bigint): bigint {
  const steps = stepsOf(fee, from.quote, to.quote);
  const bought = units + steps - 1n - from.units;
  const rise = mulDivUp(to.quote.amount - from.quote.amount, bought, to.units - from.units);
  const cost = from.quote.amount + rise + STEP_ROUNDING * steps;
  return cost < to.quote.amount ? cost : to.quote.amount;
}

/** The steps that a swap may end in between two quotes: those before are in both. */
function stepsOf(fee: number, from: LegQuote, to: LegQuote): bigint {
  // Counts from one start differ by what lies between their ends, and by one at either.
  const counted = Math.max(to.crossed - from.crossed, 0) + 1;
  const ticks = ticksBetween(from.sqrtPrice, to.sqrtPrice, fee, counted);
  return stepsBetween(from.sqrtPrice, to.sqrtPrice, fee, ticks);
}
