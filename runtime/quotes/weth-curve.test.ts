import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pushOf, SharedPools } from './shared-pool.ts';

/** A pool of x USDG and y WETH (no fee, no rounding): the arithmetic that Uniswap's has within one range. */
const pool = fc.record({
  x: fc.bigInt({ min: 10n ** 11n, max: 10n ** 15n }),
  y: fc.bigInt({ min: 10n ** 20n, max: 10n ** 23n }),
});
const parts = fc.array(fc.bigInt({ min: 1n, max: 400n }), { minLength: 1, maxLength: 8 });
const TIER = 500;
const ONE = 10n ** 36n;

/** Square root of x / y to 60 bits, the price of WETH. */
function sqrtPrice(x: bigint, y: bigint): bigint {
  let root = BigInt(Math.floor(Math.sqrt(Number(x) / Number(y)) * 2 ** 96));
  const square = (x << 192n) / y;
  for (let step = 0; step < 6; step += 1) root = (root + square / root) / 2n;
  return root;
}

const costOf = (x: bigint, y: bigint, weth: bigint) => (x * weth) / (y - weth) + 1n;
const yieldOf = (x: bigint, y: bigint, weth: bigint) => (x * weth) / (y + weth);

/** Never in the trader's disfavour by more than the roundings: one alone, one together, one to be safe. */
function near(lack: bigint): void {
  expect(lack).toBeGreaterThanOrEqual(0n);
  expect(lack).toBeLessThanOrEqual(3n);
}

describe('legs that share a pool', () => {
  it('cost what they cost one after another', () => {
    fc.assert(
      fc.property(pool, parts, ({ x, y }, tenThousandths) => {
        const pools = new SharedPools();
        let [usdg, weth] = [x, y];
        for (const part of tenThousandths) {
          const taken = (y * part) / 10_000n;
          const alone = costOf(x, y, taken);
          const push = pushOf(TIER, sqrtPrice(x, y), sqrtPrice(x + alone, y - taken));
          const exact = costOf(usdg, weth, taken);
          near(pools.costAfter(push, alone) - exact);
          pools.took(push);
          usdg += exact;
          weth -= taken;
        }
      }),
    );
  });

  it('yield what they yield one after another', () => {
    fc.assert(
      fc.property(pool, parts, ({ x, y }, tenThousandths) => {
        const pools = new SharedPools();
        let [usdg, weth] = [x, y];
        for (const part of tenThousandths) {
          const brought = (y * part) / 10_000n;
          const alone = yieldOf(x, y, brought);
          const push = pushOf(TIER, sqrtPrice(x, y), sqrtPrice(x - alone, y + brought));
          const exact = yieldOf(usdg, weth, brought);
          near(exact - pools.yieldAfter(push, alone));
          pools.brought(push);
          usdg -= exact;
          weth += brought;
        }
      }),
    );
  });

  it('of different pools, or of none, do not meet', () => {
    const pools = new SharedPools();
    const push = { pool: TIER, ratio: (11n * ONE) / 10n };
    pools.took(push);
    expect(pools.costAfter({ pool: 3_000, ratio: (11n * ONE) / 10n }, 1_000n)).toBe(1_000n);
    expect(pools.costAfter(null, 1_000n)).toBe(1_000n);
    expect(pools.costAfter(push, 1_000n)).toBeGreaterThan(1_200n);
    expect(pools.yieldAfter(null, 1_000n)).toBe(1_000n);
  });

  it('that take more than the pool has are not made to look cheap', () => {
    const pools = new SharedPools();
    const half = { pool: TIER, ratio: 2n * ONE };
    pools.took(half);
    expect(pools.costAfter(half, 1_000n)).toBeGreaterThanOrEqual(2_000n);
  });
});
