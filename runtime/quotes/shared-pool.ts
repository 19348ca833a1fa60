/**
 * Legs that share a WETH/USDG pool. Each is quoted alone, but in the transaction they run one after another, and each
 * meets the price that those before it have left. Pure.
 *
 * Within one range of liquidity a pool is a product of virtual reserves, and its square-root price tells what part of
 * them a leg moves. From those parts follows, to the rounding, what a leg costs more (or yields less) after others.
 */

/** Which pool a route shares and how far it moves it: the ratio of its square-root prices, at least 1. */
export type Push = { pool: number; ratio: number };

/**
 * Doubles are not exact, and the pools round each swap by itself. Exact integers would need the WETH between a leg's
 * two hops, which the quoter does not tell: a read more for every route, and the shared pool's ticks where it is crossed.
 */
const ROUNDING = 1e-9;
const SCALE = 1_000_000_000_000;

/** The push of a leg that found the pool at one price and leaves it at another. */
export function pushOf(pool: number, before: bigint, after: bigint): Push {
  const [high, low] = before > after ? [before, after] : [after, before];
  return { pool, ratio: low === 0n ? 1 : Number(high) / Number(low) };
}

/** What has gone through each pool so far, in parts of its virtual reserves. */
export class SharedPools {
  readonly #moved = new Map<number, number>();

  /** A leg that takes WETH out of the pool: its cost after the others. Rounded up. */
  costAfter(push: Push | null, cost: bigint): bigint {
    const before = push === null ? 0 : (this.#moved.get(push.pool) ?? 0);
    if (push === null || before === 0) return cost;
    const own = 1 - 1 / push.ratio;
    const left = 1 - before;
    if (left - own <= 0) return cost * 2n;
    return scaledUp(cost, (1 - own) / (left * (left - own)));
  }

  /** A leg that brings WETH into the pool: what it yields after the others. Rounded down. */
  yieldAfter(push: Push | null, amount: bigint): bigint {
    const before = push === null ? 0 : (this.#moved.get(push.pool) ?? 0);
    if (push === null || before === 0) return amount;
    const own = push.ratio - 1;
    const grown = 1 + before;
    return scaledDown(amount, (1 + own) / (grown * (grown + own)));
  }

  /** Counts a leg that takes WETH out. */
  took(push: Push | null): void {
    if (push !== null) this.#add(push.pool, 1 - 1 / push.ratio);
  }

  /** Counts a leg that brings WETH in. */
  brought(push: Push | null): void {
    if (push !== null) this.#add(push.pool, push.ratio - 1);
  }

  #add(pool: number, part: number): void {
    this.#moved.set(pool, (this.#moved.get(pool) ?? 0) + part);
  }
}

function scaledUp(amount: bigint, factor: number): bigint {
  const more = factor - 1 + ROUNDING;
  return amount + (amount * BigInt(Math.ceil(more * SCALE))) / BigInt(SCALE) + 1n;
}

function scaledDown(amount: bigint, factor: number): bigint {
  const less = Math.min(1 - factor + ROUNDING, 1);
  const taken = (amount * BigInt(Math.ceil(less * SCALE))) / BigInt(SCALE) + 1n;
  return taken < amount ? amount - taken : 0n;
}
