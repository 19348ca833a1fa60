/**
 * A WETH/USDG pool that several legs of a basket go through, one after another: each meets the price that those before
 * it have left. The curve tells what a leg costs (or yields) after the others, from real quotes of the pool at a few
 * amounts. Pure; what it says is never better for the trader than what the pool does.
 *
 * As far as quotes crossed no initialised tick, the pool is one product of virtual reserves: between the price at which
 * it stands and that of the furthest such quote, every amount follows exactly. Beyond, liquidity may change anywhere
 * between two quotes. But a pool only gets dearer: the straight line between two quotes costs the trader at least what
 * the pool asks, and the prices at both of its ends bound what the pool can have given.
 */
import { mulDivDown, mulDivUp } from '../../contracts-abi/rounding.ts';
import { STEP_ROUNDING, stepsBetween, ticksBetween } from './swap-steps.ts';

/** A quote: both sides of a swap from where the pool stands, the price it leaves, the initialised ticks it counts. */
export type CurvePoint = { usdg: bigint; weth: bigint; sqrtPrice: bigint; crossed: number };

export type WethPool = {
  fee: number;
  /** Whether USDG is token0, so that the pool's own price is WETH per USDG. */
  usdgFirst: boolean;
};

/** Between two quotes: how far the sides go, the square-root prices, and the steps of a swap from the start to `to`. */
type Part = {
  from: CurvePoint;
  to: CurvePoint;
  exact: boolean;
  low: bigint;
  high: bigint;
  steps: bigint;
};

const Q192 = 1n << 192n;
const MILLION = 1_000_000n;

export class WethCurve {
  readonly #pool: WethPool;
  readonly #parts: readonly Part[];
  readonly #goesOn: boolean;

  /**
   * @param points ascending, of one direction; the first one is the standing price, with nothing swapped.
   * @param goesOn whether the pool served all that was asked; else it may not take more than the last of the points.
   */
  constructor(pool: WethPool, points: readonly CurvePoint[], goesOn: boolean) {
    this.#pool = pool;
    this.#parts = partsOf(pool, points);
    this.#goesOn = goesOn;
  }

  /**
   * USDG that a leg has to spend to get `weth`, when those before it spent `spent` here; null: the pool has not as much
   * within what was quoted.
   */
  costAfter(spent: bigint, weth: bigint): bigint | null {
    if (weth === 0n) return 0n;
    const taken = this.#mostTakenBy(spent);
    const part = taken === null ? null : this.#partAt('weth', taken + weth);
    if (taken === null || part === null) return null;
    return costOf(part, taken + weth) - spent + STEP_ROUNDING * part.steps;
  }

  /**
   * USDG that a leg yields for `weth` at least, when those before it brought `brought`: nothing for what lies beyond
   * the quotes. Null: the pool may not take as much.
   */
  yieldAfter(brought: bigint, weth: bigint): bigint | null {
    const after = this.#yieldOf(brought + weth);
    if (after === null) return null;
    const yielded = after.usdg - (this.#yieldOf(brought)?.usdg ?? 0n) - after.steps;
    return yielded > 0n ? yielded : 0n;
  }

  /** The most WETH that so much USDG can have taken; the quotes themselves were rounded, by as much as is added. */
  #mostTakenBy(spent: bigint): bigint | null {
    if (spent === 0n) return 0n;
    const rounded = this.#partAt('usdg', spent);
    if (rounded === null) return null;
    const most = spent + STEP_ROUNDING * rounded.steps;
    const part = this.#partAt('usdg', most) ?? rounded;
    return part.exact ? takenExactly(part, most) : this.#takenWithin(part, most);
  }

  /** By the better of the prices at both ends: the pool gives no more than either. */
  #takenWithin({ from, to }: Part, spent: bigint): bigint {
    const onwards = from.weth + this.#wethFor(spent - from.usdg, from.sqrtPrice, mulDivUp);
    if (spent >= to.usdg) return onwards;
    const back = to.weth - this.#wethFor(to.usdg - spent, to.sqrtPrice, mulDivDown);
    return onwards < back ? onwards : back;
  }

  /** What `usdg` would take at exactly this price, after the pool's fee. */
  #wethFor(usdg: bigint, sqrtPrice: bigint, round: typeof mulDivUp): bigint {
    const net = usdg * (MILLION - BigInt(this.#pool.fee));
    const square = sqrtPrice * sqrtPrice;
    return this.#pool.usdgFirst
      ? round(net, square, Q192 * MILLION)
      : round(net, Q192, square * MILLION);
  }

  #yieldOf(weth: bigint): { usdg: bigint; steps: bigint } | null {
    const last = this.#parts.at(-1);
    const part = this.#partAt('weth', weth);
    if (last === undefined || (part === null && !this.#goesOn)) return null;
    if (part === null) return { usdg: last.to.usdg, steps: last.steps };
    const { from, to, low, high, steps } = part;
    const [sold, all] = [weth - from.weth, to.weth - from.weth];
    const usdg = part.exact
      ? mulDivDown(to.usdg * high, sold, all * low + (high - low) * sold)
      : from.usdg + mulDivDown(to.usdg - from.usdg, sold, all);
    return { usdg, steps };
  }

  #partAt(side: 'usdg' | 'weth', amount: bigint): Part | null {
    return this.#parts.find(({ to }) => amount <= to[side]) ?? null;
  }
}

function partsOf({ fee }: WethPool, points: readonly CurvePoint[]): Part[] {
  const [start] = points;
  if (start === undefined) return [];
  const crossedTo = ({ sqrtPrice, crossed }: CurvePoint) =>
    ticksBetween(start.sqrtPrice, sqrtPrice, fee, crossed);
  const uncrossed = points.findLast((point) => crossedTo(point) === 0) ?? start;
  const parts: Part[] = [];
  let from = start;
  for (const to of points) {
    const inside = to.usdg < uncrossed.usdg;
    if (inside || to.usdg <= from.usdg || to.weth <= from.weth) continue;
    const rises = from.sqrtPrice < to.sqrtPrice;
    const [low, high] = rises ? [from.sqrtPrice, to.sqrtPrice] : [to.sqrtPrice, from.sqrtPrice];
    const steps = stepsBetween(start.sqrtPrice, to.sqrtPrice, fee, crossedTo(to));
    parts.push({ from, to, exact: to === uncrossed, low, high, steps });
    from = to;
  }
  return parts;
}

/** What `weth` of the whole cost at most, before the roundings of a swap of its own. */
function costOf({ from, to, exact, low, high }: Part, weth: bigint): bigint {
  const [taken, all] = [weth - from.weth, to.weth - from.weth];
  return exact
    ? mulDivUp(to.usdg * low, taken, all * high - (high - low) * taken)
    : from.usdg + mulDivUp(to.usdg - from.usdg, taken, all);
}

/** The inverse of {@link costOf} where no tick was crossed. */
function takenExactly({ to, low, high }: Part, usdg: bigint): bigint {
  return mulDivUp(to.weth * high, usdg, to.usdg * low + (high - low) * usdg);
}
