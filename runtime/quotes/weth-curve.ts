/**
 * Legs that share a WETH/USDG pool. Each is quoted alone, but in the transaction they run one after another, and each
 * meets the price that those before it have left. Pure.
 *
 * Within one range of liquidity a pool is a product of virtual reserves, and its square-root price tells what part of
 * them a leg moves. From those parts follows, to the base unit, what a leg costs more (or yields less) after others:
 * exact integers throughout, since both square-root prices of every leg are known to 96 bits.
 */
import { mulDivDown, mulDivUp } from '../../contracts-abi/rounding.ts';

/** Ratios and parts are integers of this unit: far finer than any amount has digits. */
const ONE = 10n ** 36n;

/** Which pool a route shares and how far it moves it: the ratio of its square-root prices x 1e36, at least one. */
export type Push = { pool: number; ratio: bigint };

/** The push of a leg that found the pool at one price and leaves it at another. */
export function pushOf(pool: number, before: bigint, after: bigint): Push {
  const [high, low] = before > after ? [before, after] : [after, before];
  return { pool, ratio: low === 0n ? ONE : (high * ONE) / low };
}

/** What has gone through each pool so far, in parts of its virtual reserves. */
export class SharedPools {
  readonly #moved = new Map<number, bigint>();

  /** A leg that takes WETH out of the pool: its cost after the others. Rounded up, and one more for the pool's own rounding. */
  costAfter(push: Push | null, cost: bigint): bigint {
    const before = push === null ? 0n : (this.#moved.get(push.pool) ?? 0n);
    if (push === null || before === 0n) return cost;
    const own = takenPart(push);
    const left = ONE - before;
    if (left - own <= 0n) return cost * 2n;
    // (1 - own) / (left x (left - own)) of what it costs alone.
    return mulDivUp(cost, (ONE - own) * ONE, left * (left - own)) + 1n;
  }

  /** A leg that brings WETH into the pool: what it yields after the others. Rounded down, and one less. */
  yieldAfter(push: Push | null, amount: bigint): bigint {
    const before = push === null ? 0n : (this.#moved.get(push.pool) ?? 0n);
    if (push === null || before === 0n) return amount;
    const grown = ONE + before;
    // (1 + own) / (grown x (grown + own)) of what it yields alone.
    const yielded = mulDivDown(amount, push.ratio * ONE, grown * (grown + push.ratio - ONE));
    return yielded > 0n ? yielded - 1n : 0n;
  }

  /** Counts a leg that takes WETH out. */
  took(push: Push | null): void {
    if (push !== null) this.#add(push.pool, takenPart(push));
  }

  /** Counts a leg that brings WETH in. */
  brought(push: Push | null): void {
    if (push !== null) this.#add(push.pool, push.ratio - ONE);
  }

  #add(pool: number, part: bigint): void {
    this.#moved.set(pool, (this.#moved.get(pool) ?? 0n) + part);
  }
}

/** 1 - 1 / ratio: the part of the WETH that a leg takes out. */
function takenPart({ ratio }: Push): bigint {
  return ONE - (ONE * ONE) / ratio;
}
