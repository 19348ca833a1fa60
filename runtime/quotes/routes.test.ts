import type { Address } from 'viem';
import { describe, expect, it } from 'vitest';
import { backwardPath, forwardPath, reversed, routesTo, tokenInOf, tokenOutOf } from './routes.ts';

const usdg: Address = `0x${'11'.repeat(20)}`;
const weth: Address = `0x${'22'.repeat(20)}`;
const nvda: Address = `0x${'33'.repeat(20)}`;
const tokens = { usdg, weth };

describe('routes', () => {
  it('go directly at every tier with a pool, and through WETH at every pair of tiers', () => {
    const routes = routesTo(nvda, tokens, { usdg: [500, 3_000], weth: [3_000] }, [500, 10_000]);
    expect(routes.map((route) => route.map(({ fee }) => fee))).toEqual([
      [500],
      [3_000],
      [500, 3_000],
      [10_000, 3_000],
    ]);
    for (const route of routes) {
      expect(tokenInOf(route)).toBe(usdg);
      expect(tokenOutOf(route)).toBe(nvda);
    }
  });

  it('never lead through WETH to WETH itself', () => {
    const routes = routesTo(weth, tokens, { usdg: [500], weth: [] }, [500]);
    expect(routes).toHaveLength(1);
  });

  it('are none where there is no pool, and bounded where there are many', () => {
    expect(routesTo(nvda, tokens, { usdg: [], weth: [] }, [500])).toEqual([]);
    const all = [100, 500, 3_000, 10_000];
    expect(routesTo(nvda, tokens, { usdg: all, weth: all }, all)).toHaveLength(12);
  });

  it('pack paths forwards for exact input and backwards for exact output', () => {
    const [, , viaWeth] = routesTo(nvda, tokens, { usdg: [500, 3_000], weth: [3_000] }, [500]);
    if (viaWeth === undefined) throw new Error('no route through WETH');
    const hex = (address: Address) => address.slice(2);
    expect(forwardPath(viaWeth)).toBe(`${usdg}0001f4${hex(weth)}000bb8${hex(nvda)}`);
    expect(backwardPath(viaWeth)).toBe(`${nvda}000bb8${hex(weth)}0001f4${hex(usdg)}`);
    expect(reversed(reversed(viaWeth))).toEqual(viaWeth);
  });
});
