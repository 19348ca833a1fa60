/** How many shares a budget buys (purchase.ts says what so many cost). Pure. */
import { mulDivDown } from '../../contracts-abi/rounding.ts';
import { type Priced, type Purchase, type SizedLeg, sumOf } from './purchase.ts';

export type Sized =
  | { tag: 'sized'; shares: bigint; legs: readonly SizedLeg[]; spent: bigint }
  | { tag: 'no_route'; constituent: number };

/** A size that fits the budget. */
type Fitting = { shares: bigint; legs: readonly SizedLeg[]; spent: bigint };

/**
 * The largest size whose legs together cost at most `budget`, to within what one base unit of each constituent costs.
 * @param sizes ascending, not empty: where to look first. None is taken that costs more.
 */
export function sizeByBudget(purchase: Purchase, sizes: readonly bigint[], budget: bigint): Sized {
  let low: Fitting = { shares: 0n, legs: [], spent: 0n };
  for (const shares of sizes) {
    const priced = purchase.priceOf(shares, null);
    if (priced.tag === 'priced' && priced.spent <= budget) {
      low = { shares, legs: priced.legs, spent: priced.spent };
      continue;
    }
    if (priced.tag === 'unserved' && low.shares === 0n) {
      const { constituent } = priced;
      if (!purchase.serves(constituent, shares)) return { tag: 'no_route', constituent };
    }
    low = between(purchase, low, { shares, priced }, budget);
    break;
  }
  return { tag: 'sized', ...low };
}

/** {@link sizeByBudget}, and what is left of the budget spent on more of everything. */
export function spendAll(purchase: Purchase, sizes: readonly bigint[], budget: bigint): Sized {
  const sized = sizeByBudget(purchase, sizes, budget);
  if (sized.tag === 'no_route') return sized;
  const { shares, legs } = sized;
  const all = purchase.stretched(shares, legs, budget);
  return { tag: 'sized', shares, legs: all, spent: sumOf(all) };
}

/** Exactly so many shares, whatever they cost. */
export function sizeOf(purchase: Purchase, shares: bigint): Sized {
  const priced = purchase.priceOf(shares, null);
  return priced.tag === 'unserved'
    ? { tag: 'no_route', constituent: priced.constituent }
    : { tag: 'sized', shares, legs: priced.legs, spent: priced.spent };
}

type TooMuch = { shares: bigint; priced: Priced };

/** Straight towards the budget first, then halfway: whole units of a coarse token make costs jump. */
const STRAIGHT_STEPS = 4;
const MOST_STEPS = 20;
/** What is left of the budget is as good as nothing below a ten millionth of it, and a base unit of each leg. */
const NEARLY_ALL = 10_000_000n;

function between(purchase: Purchase, fits: Fitting, exceeds: TooMuch, budget: bigint): Fitting {
  let [low, high] = [fits, exceeds];
  for (let step = 1; step <= MOST_STEPS; step += 1) {
    const left = budget - low.spent;
    const done = left <= budget / NEARLY_ALL + BigInt(low.legs.length);
    if (done || high.shares - low.shares <= 1n) break;
    const shares = guess(low, high, left, step > STRAIGHT_STEPS);
    const priced = purchase.priceOf(shares, low.shares === 0n ? null : low.legs);
    if (priced.tag === 'priced' && priced.spent <= budget) {
      low = { shares, legs: priced.legs, spent: priced.spent };
    } else {
      high = { shares, priced };
    }
  }
  return low;
}

/** Where the straight line between the two meets the budget, or halfway; strictly between them. */
function guess(low: Fitting, { shares, priced }: TooMuch, left: bigint, halfway: boolean): bigint {
  const width = shares - low.shares;
  const known = priced.tag === 'priced' && !halfway;
  const step = known ? mulDivDown(width, left, priced.spent - low.spent) : width / 2n;
  const inside = step < width ? step : width - 1n;
  return low.shares + (inside > 0n ? inside : 1n);
}
