import { FeeAmount } from '@uniswap/v3-sdk';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { feeTier, TestPool } from './pool-fixture.ts';
import { type LinePoint, lineThrough } from './route-line.ts';

const SIZES_BPS = [8_800n, 9_700n, 9_950n, 10_200n];

const percent = fc.bigInt({ min: 0n, max: 99n });
const ranges = (minLength: number, most: bigint) =>
  fc.array(
    fc.record({
      below: fc.integer({ min: -9, max: 2 }),
      width: fc.integer({ min: 1, max: 4 }),
      times: fc.bigInt({ min: 1n, max: most }),
    }),
    { minLength, maxLength: 8 },
  );
/** `depth`: units of the token on its side of the wide range, of which `part` is bought. */
const steep = fc.record({
  fee: feeTier,
  tick: fc.integer({ min: -60_000, max: 90_000 }),
  percent,
  depth: fc.bigInt({ min: 10n ** 6n, max: 10n ** 10n }),
  part: fc.bigInt({ min: 1n, max: 900n }),
  narrow: ranges(0, 300n),
});
/** A unit costs 1,000 to 8,000 of USDG, as one of a coarse token does, and hardly more after several ticks. */
const coarse = fc.record({
  fee: fc.constant(FeeAmount.LOWEST),
  tick: fc.integer({ min: 70_000, max: 90_000 }),
  percent,
  depth: fc.bigInt({ min: 10n ** 6n, max: 10n ** 7n }),
  part: fc.bigInt({ min: 1n, max: 8n }),
  narrow: ranges(4, 50n),
});
const market = fc.oneof(steep, coarse).map(({ fee, tick, percent, depth, part, narrow }) => {
  // token1 per token0 is 1.0001 to the power of the tick.
  const wide = BigInt(Math.ceil(Number(depth) * 1.0001 ** (tick / 2)));
  const around = narrow.map(({ below, width, times }) => ({
    below,
    above: width - below,
    liquidity: (wide * times) / 100n + 1n,
  }));
  const all = [{ below: 3_000, above: 3_000, liquidity: wide }, ...around];
  return { fee, pool: TestPool.at(fee, tick, percent, all), units: (depth * part) / 10_000n };
});

async function pointsOf(pool: TestPool, units: bigint): Promise<LinePoint[]> {
  const points: LinePoint[] = [];
  for (const size of [1n, ...SIZES_BPS.map((bps) => (units * bps) / 10_000n + 1n)]) {
    const quote = await pool.exactOutput(false, size);
    if (quote === null) break;
    points.push({ units: size, quote });
  }
  return points;
}

describe('the cost of a leg between quotes', () => {
  it('buys at least as much, whatever ticks it crosses and however coarse the token is', async () => {
    await fc.assert(
      fc.asyncProperty(
        market,
        fc.array(fc.bigInt({ min: 1n, max: 10_200n }), { minLength: 8, maxLength: 8 }),
        async ({ fee, pool, units }, shares) => {
          const cost = lineThrough(fee, await pointsOf(pool, units));
          for (const share of shares) {
            const wanted = (units * share) / 10_000n + 1n;
            const paid = cost(wanted);
            if (paid === null) continue;
            const got = await pool.exactInput(false, paid);
            expect(got?.amount ?? 0n).toBeGreaterThanOrEqual(wanted);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is what was quoted at a quote, and not known beyond the last', () => {
    const quote = (amount: bigint) => ({ amount, sqrtPrice: 1n << 96n, crossed: 0 });
    const cost = lineThrough(500, [
      { units: 1n, quote: quote(2n) },
      { units: 1_000n, quote: quote(1_100n) },
    ]);
    expect([0n, 1n, 1_000n, 1_001n].map(cost)).toEqual([0n, 2n, 1_100n, null]);
    // By the line, and what the steps round that may end in between.
    expect(cost(501n)).toBeLessThanOrEqual(2n + 549n + 10n);
  });
});
