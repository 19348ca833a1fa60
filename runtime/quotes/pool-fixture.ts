/** Uniswap v3 pools as its own SDK computes them, to the base unit, with what QuoterV2 says of their swaps. */
import { CurrencyAmount, Token } from '@uniswap/sdk-core';
import { FeeAmount, Pool, TickMath } from '@uniswap/v3-sdk';
import * as fc from 'fast-check';
import type { LegQuote } from './leg-quotes.ts';
import { type CurvePoint, WethCurve } from './weth-curve.ts';

/** Liquidity between two multiples of the tick spacing around where the pool stands. */
export type Range = { below: number; above: number; liquidity: bigint };
export type Swapped = LegQuote & { after: TestPool };

const token = (digit: string) => new Token(1, `0x${digit.repeat(40)}`, 18);
const [FIRST, SECOND] = [token('1'), token('2')];

export class TestPool {
  readonly #pool: Pool;
  readonly #ticks: readonly number[];

  private constructor(pool: Pool, ticks: readonly number[]) {
    this.#pool = pool;
    this.#ticks = ticks;
  }

  /** @param percent how far the price is from this tick to the next. */
  static at(fee: FeeAmount, tick: number, percent: bigint, ranges: readonly Range[]): TestPool {
    const [from, to] = [tick, tick + 1].map((each) => big(TickMath.getSqrtRatioAtTick(each)));
    const price = (from ?? 0n) + (((to ?? 0n) - (from ?? 0n)) * percent) / 100n;
    const spacing = new Pool(FIRST, SECOND, fee, price.toString(), '1', tick).tickSpacing;
    const base = Math.floor(tick / spacing) * spacing;
    const net = new Map<number, bigint>();
    let liquidity = 0n;
    for (const { below, above, liquidity: added } of ranges) {
      const [lower, upper] = [base - below * spacing, base + above * spacing];
      net.set(lower, (net.get(lower) ?? 0n) + added);
      net.set(upper, (net.get(upper) ?? 0n) - added);
      if (lower <= tick && tick < upper) liquidity += added;
    }
    const ticks = [...net].filter(([, change]) => change !== 0n).sort(([a], [b]) => a - b);
    const pool = new Pool(
      FIRST,
      SECOND,
      fee,
      price.toString(),
      liquidity.toString(),
      tick,
      ticks.map(([index, change]) => ({
        index,
        liquidityGross: (change < 0n ? -change : change).toString(),
        liquidityNet: change.toString(),
      })),
    );
    return new TestPool(
      pool,
      ticks.map(([index]) => index),
    );
  }

  /** @param sells whether token0 goes in. Null: the pool cannot take it. */
  async exactInput(sells: boolean, amount: bigint): Promise<Swapped | null> {
    const given = CurrencyAmount.fromRawAmount(sells ? FIRST : SECOND, amount.toString());
    return await this.#swapped(this.#pool.getOutputAmount(given));
  }

  async exactOutput(sells: boolean, amount: bigint): Promise<Swapped | null> {
    const wanted = CurrencyAmount.fromRawAmount(sells ? SECOND : FIRST, amount.toString());
    return await this.#swapped(this.#pool.getInputAmount(wanted));
  }

  async #swapped(swap: Promise<[CurrencyAmount<Token>, Pool]>): Promise<Swapped | null> {
    const done = await swap.catch(() => null);
    if (done === null) return null;
    const [amount, pool] = done;
    return {
      amount: big(amount.quotient),
      sqrtPrice: big(pool.sqrtRatioX96),
      crossed: this.#counted(pool.tickCurrent),
      after: new TestPool(pool, this.#ticks),
    };
  }

  /** PoolTicksCounter of v3-periphery, with what it counts too much at both ends. */
  #counted(to: number): number {
    const { tickCurrent: from, tickSpacing: spacing } = this.#pool;
    const [a, b] = [from, to].map((tick) => Math.trunc(tick / spacing) * spacing);
    const [low, high] = [Math.min(a ?? 0, b ?? 0), Math.max(a ?? 0, b ?? 0)];
    const counted = this.#ticks.filter((tick) => low <= tick && tick <= high).length;
    const isTick = (tick: number) => (this.#ticks.includes(tick) ? 1 : 0);
    return counted - (from > to ? isTick(to) : 0) - (from < to ? isTick(from) : 0);
  }
}

const big = (value: { toString: () => string }) => BigInt(value.toString());

export const feeTier = fc.constantFrom(FeeAmount.LOWEST, FeeAmount.LOW, FeeAmount.MEDIUM);

/** A WETH/USDG pool at about $3,000 of some depth; `usdg` is what all legs together spend or yield at most. */
export type Scene = { pool: TestPool; fee: FeeAmount; usdgFirst: boolean; usdg: bigint };

/** @param most narrow ranges beside the wide one, each up to four times as thick. */
export const sceneOf = (most: number) =>
  fc
    .record({
      fee: feeTier,
      usdgFirst: fc.boolean(),
      tick: fc.integer({ min: 195_000, max: 197_500 }),
      percent: fc.bigInt({ min: 0n, max: 99n }),
      depth: fc.bigInt({ min: 10n ** 11n, max: 10n ** 14n }),
      part: fc.bigInt({ min: 1n, max: 600n }),
      narrow: fc.array(
        fc.record({
          below: fc.integer({ min: -6, max: 6 }),
          width: fc.integer({ min: 1, max: 8 }),
          times: fc.bigInt({ min: 1n, max: 400n }),
        }),
        { maxLength: most },
      ),
    })
    .map(({ fee, usdgFirst, tick, percent, depth, part, narrow }): Scene => {
      // The geometric mean of both reserves.
      const wide = depth * 18_257n;
      const ranges = narrow.map(({ below, width, times }) => ({
        below,
        above: width - below,
        liquidity: (wide * times) / 100n,
      }));
      const all = [{ below: 3_000, above: 3_000, liquidity: wide }, ...ranges];
      const pool = TestPool.at(fee, usdgFirst ? tick : -tick, percent, all);
      return { pool, fee, usdgFirst, usdg: (depth * part) / 10_000n };
    });

const PARTS = [25n, 100n, 250n, 400n, 550n, 700n, 850n, 1_000n, 1_250n];

/** The curve of a scene, as it is read from the chain. */
export async function curveOf(scene: Scene, side: 'buy' | 'sell'): Promise<WethCurve> {
  const { pool, fee, usdgFirst, usdg } = scene;
  const sells = side === 'buy' ? usdgFirst : !usdgFirst;
  const standing = await pool.exactInput(sells, 1n);
  const points: CurvePoint[] = [];
  if (standing !== null) points.push({ ...standing, usdg: 0n, weth: 0n });
  for (const part of PARTS) {
    const amount = (usdg * part) / 1_000n + 1n;
    const quoted =
      side === 'buy' ? pool.exactInput(sells, amount) : pool.exactOutput(sells, amount);
    const point = await quoted;
    if (point === null) break;
    points.push({ ...point, usdg: amount, weth: point.amount });
  }
  return new WethCurve({ fee, usdgFirst }, points, points.length > PARTS.length);
}
