/**
 * In how many steps a swap runs between two prices, at most. A step ends at an initialised tick, or where a word of the
 * pool's tick bitmap ends, and each rounds its amount and its fee by itself.
 */

/** Of Uniswap v3's fee tiers, as its factory enables them. */
const TICK_SPACING: Readonly<Record<number, number>> = { 100: 1, 500: 10, 3_000: 60, 10_000: 200 };
const TICKS_IN_WORD = 256;
const LN_TICK = Math.log(1.0001);
/** Of a tick: a number counts ticks to less than a millionth of one. */
const MARGIN = 0.01;

/** USDG base units that one step rounds away: one of the amount, one of the fee. */
export const STEP_ROUNDING = 2n;

function tickNear(sqrtPrice: bigint): number {
  return (2 * Math.log(Number(sqrtPrice) / 2 ** 96)) / LN_TICK;
}

/** Multiples of `ticks` between two prices, or within `margin` ticks of them. */
function multiplesBetween(a: bigint, b: bigint, ticks: number, margin: number): number {
  const [one, other] = [tickNear(a), tickNear(b)];
  const last = Math.floor((Math.max(one, other) + margin) / ticks);
  const first = Math.ceil((Math.min(one, other) - margin) / ticks);
  return last - first + 1;
}

function spacingOf(fee: number): number {
  return TICK_SPACING[fee] ?? 1;
}

/**
 * Initialised ticks between two prices, at most.
 * @param counted what the quoter says of a swap from one to the other: it may count one at each end that the swap did
 * not cross, and misses none.
 */
export function ticksBetween(a: bigint, b: bigint, fee: number, counted: number): number {
  return Math.min(multiplesBetween(a, b, spacingOf(fee), MARGIN), counted);
}

/** Steps between two prices, at most, the one that ends inside a range among them. @param ticks initialised ones. */
export function stepsBetween(a: bigint, b: bigint, fee: number, ticks: number): bigint {
  const spacing = spacingOf(fee);
  // Upwards a word ends one spacing before the next begins.
  const words = multiplesBetween(a, b, TICKS_IN_WORD * spacing, spacing + MARGIN);
  return BigInt(ticks + words + 1);
}
