import { describe, expect, test } from 'vitest';
import { BASKETS } from './baskets.ts';
import { createPriceProcess, mulberry32, type Quoted } from './price-process.ts';
import { TOKENS } from './tokens.ts';

const QUOTED: readonly Quoted[] = TOKENS.filter(({ pools }) => pools.length > 0);

function walk(seed: number, steps: number, seconds: number): Map<string, number>[] {
  const process = createPriceProcess(seed, QUOTED);
  return Array.from({ length: steps }, () => process.step(seconds));
}

describe('the price process', () => {
  test('is the same for the same seed and another for another', () => {
    expect(walk(7, 50, 3)).toEqual(walk(7, 50, 3));
    expect(walk(7, 50, 3)).not.toEqual(walk(8, 50, 3));
  });

  test('stays within thirty percent of the start for a month', () => {
    let most = 0;
    for (const prices of walk(1, 30 * 24 * 6, 600)) {
      for (const { symbol, price } of QUOTED) {
        most = Math.max(most, Math.abs(Math.log((prices.get(symbol) ?? 0) / price)));
      }
    }
    expect(most).toBeLessThanOrEqual(0.3 + 1e-9);
    expect(most).toBeGreaterThan(0.1);
  });

  test('keeps neighbouring 200 s windows calm: far below 600 ticks over two days', () => {
    const path = walk(3, 2 * 24 * 18, 200);
    let most = 0;
    for (let i = 2; i < path.length; i += 1) {
      for (const { symbol } of QUOTED) {
        for (const back of [1, 2]) {
          const ratio = (path[i]?.get(symbol) ?? 1) / (path[i - back]?.get(symbol) ?? 1);
          most = Math.max(most, Math.abs(Math.log(ratio)) / Math.log(1.0001));
        }
      }
    }
    expect(most).toBeLessThan(500);
    expect(most).toBeGreaterThan(100);
  });

  test('moves enough within an hour for a trigger one percent away to be crossed now and then', () => {
    const path = walk(5, 24 * 20, 180);
    const crossed = QUOTED.filter(({ symbol }) =>
      path.some((prices, i) => {
        const then = path[i - 20]?.get(symbol);
        return then !== undefined && Math.abs((prices.get(symbol) ?? then) / then - 1) > 0.01;
      }),
    );
    expect(crossed.length).toBeGreaterThan(QUOTED.length / 2);
  });

  test('its generator is uniform', () => {
    const next = mulberry32(11);
    const draws = Array.from({ length: 20_000 }, next);
    expect(Math.min(...draws)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...draws)).toBeLessThan(1);
    expect(draws.reduce((sum, x) => sum + x, 0) / draws.length).toBeCloseTo(0.5, 1);
  });
});

describe('the seed', () => {
  test('has fifteen baskets of two to ten known constituents whose weights make a whole', () => {
    expect(BASKETS).toHaveLength(15);
    expect(new Set(BASKETS.map(({ ticker }) => ticker)).size).toBe(15);
    const known = new Set(['WETH', ...TOKENS.map(({ symbol }) => symbol)]);
    for (const { weights } of BASKETS) {
      const symbols = Object.keys(weights);
      expect(symbols.length).toBeGreaterThanOrEqual(2);
      expect(symbols.length).toBeLessThanOrEqual(10);
      for (const symbol of symbols) expect(known).toContain(symbol);
      expect(Object.values(weights).reduce((sum, weight) => sum + weight, 0)).toBe(10_000);
    }
  });

  test('has tokens through both quotes, every tier, two pools at once, and other decimals than 18', () => {
    const pools = TOKENS.flatMap((token) => token.pools);
    expect(new Set(pools.map(({ quote }) => quote))).toEqual(new Set(['USDG', 'WETH']));
    expect(new Set(pools.map(({ fee }) => fee))).toEqual(new Set([500, 3000, 10000]));
    expect(TOKENS.filter((token) => token.pools.length === 2).length).toBeGreaterThan(2);
    expect(new Set(TOKENS.map(({ decimals }) => decimals))).toEqual(new Set([6, 8, 18]));
  });
});
