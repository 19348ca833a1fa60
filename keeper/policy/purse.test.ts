import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeTopUp, leastOut, strictPrice, withRoom } from './purse.ts';

const PRICE = 3_000n * 10n ** 18n;

const TOP_UP = {
  belowTransactions: 20n,
  amountUsdg: 5_000_000n,
  dailyUsdg: 12_000_000n,
  slippageBps: 100n,
};
const poor = { left: 3n, usdg: 100_000_000n, spentUsdg: 0n, price: PRICE };

describe('a top-up', () => {
  test.each<[string, Partial<typeof poor> | { price: null }, object]>([
    ['swaps its amount', {}, { tag: 'swap', amountUsdg: 5_000_000n }],
    ['is not made with ETH enough', { left: 20n }, { tag: 'enough_eth' }],
    ['is not made on a guess', { price: null }, { tag: 'unknown_price' }],
    [
      'takes what the day has left',
      { spentUsdg: 9_000_000n },
      { tag: 'swap', amountUsdg: 3_000_000n },
    ],
    ['ends with the day', { spentUsdg: 11_000_001n }, { tag: 'over_daily' }],
    ['swaps what is there', { usdg: 2_000_000n }, { tag: 'swap', amountUsdg: 2_000_000n }],
    ['leaves crumbs', { usdg: 999_999n }, { tag: 'no_usdg' }],
  ])('%s', (_, change, verdict) => {
    expect(judgeTopUp({ ...poor, ...change }, TOP_UP)).toMatchObject(verdict);
  });

  test('is off where a day may swap nothing', () => {
    expect(judgeTopUp(poor, { ...TOP_UP, dailyUsdg: 0n })).toEqual({ tag: 'over_daily' });
  });

  test('never swaps more than a day allows, than is there or than its amount; and never for less than the price less the slippage', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 12n });
    const price = fc.bigInt({ min: 10n ** 15n, max: 10n ** 24n });
    fc.assert(
      fc.property(
        amount,
        amount,
        amount,
        price,
        fc.bigInt({ min: 0n, max: 300n }),
        (usdg, spentUsdg, dailyUsdg, price, slippageBps) => {
          const verdict = judgeTopUp(
            { left: 0n, usdg, spentUsdg, price },
            { ...TOP_UP, dailyUsdg, slippageBps },
          );
          if (verdict.tag !== 'swap') return;
          expect(verdict.amountUsdg).toBeLessThanOrEqual(usdg);
          expect(verdict.amountUsdg + spentUsdg).toBeLessThanOrEqual(dailyUsdg);
          expect(verdict.amountUsdg).toBeLessThanOrEqual(TOP_UP.amountUsdg);
          // What comes out, valued at the price, is at least 97% of what goes in.
          expect(verdict.leastWei * price * 100n).toBeGreaterThanOrEqual(
            verdict.amountUsdg * 10n ** 30n * 97n,
          );
        },
      ),
    );
  });

  test('$30 at $3,000 with 1% asks for 0.0099 ETH', () => {
    expect(leastOut(30_000_000n, PRICE, 100n)).toBe(9_900_000_000_000_000n);
  });

  test('is held to the lower price, and to none where one is unknown', () => {
    expect(strictPrice(5n, 7n)).toBe(5n);
    expect(strictPrice(9n, 7n)).toBe(7n);
    expect(strictPrice(5n, 0n)).toBeNull();
    expect(strictPrice(0n, 7n)).toBeNull();
  });
});

test('a gas price has room to rise', () => {
  expect(withRoom({ gasPriceWei: 100n, ethPrice: PRICE }, 2_500n).gasPriceWei).toBe(125n);
});
