import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  judgeSweep,
  judgeTopUp,
  leastOut,
  strictPrice,
  transactionsLeft,
  withRoom,
} from './purse.ts';

const SWEEP = { floatUsdg: 10_000_000n, leastUsdg: 5_000_000n, periodMs: 3_600_000 };
const NOW = 1_800_000_000_000;
const PRICE = 3_000n * 10n ** 18n;

describe('a sweep', () => {
  test.each<[string, bigint, number | null, object]>([
    [
      'takes what lies above the float',
      25_000_000n,
      null,
      { tag: 'sweep', amountUsdg: 15_000_000n },
    ],
    ['takes exactly the least', 15_000_000n, null, { tag: 'sweep', amountUsdg: 5_000_000n }],
    ['leaves less than the least', 14_999_999n, null, { tag: 'nothing' }],
    ['leaves the float', 10_000_000n, null, { tag: 'nothing' }],
    ['leaves what is below the float', 3n, null, { tag: 'nothing' }],
    ['waits for its period', 25_000_000n, NOW - 3_599_999, { tag: 'too_soon', leftMs: 1 }],
    ['follows after its period', 25_000_000n, NOW - 3_600_000, { tag: 'sweep' }],
    [
      'waits a period when the last is ahead of the clock',
      25_000_000n,
      NOW + 9e9,
      { tag: 'too_soon', leftMs: 3_600_000 },
    ],
  ])('%s', (_, balance, last, verdict) => {
    expect(judgeSweep(balance, last, NOW, SWEEP)).toMatchObject(verdict);
  });

  test('never leaves less than the float', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 15n });
    fc.assert(
      fc.property(amount, amount, amount, (balance, floatUsdg, leastUsdg) => {
        const verdict = judgeSweep(balance, null, NOW, { ...SWEEP, floatUsdg, leastUsdg });
        if (verdict.tag !== 'sweep') return;
        expect(verdict.amountUsdg).toBeGreaterThan(0n);
        expect(verdict.amountUsdg).toBeGreaterThanOrEqual(leastUsdg);
        expect(balance - verdict.amountUsdg).toBe(floatUsdg);
      }),
    );
  });
});

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

test('transactions left are whole, and none where a price is not known', () => {
  const market = withRoom({ gasPriceWei: 100n, ethPrice: PRICE }, 2_500n);
  expect(transactionsLeft(124_999n, 1_000n, market)).toBe(0n);
  expect(transactionsLeft(250_000n, 1_000n, market)).toBe(2n);
  expect(transactionsLeft(250_000n, 1_000n, { gasPriceWei: 0n })).toBe(0n);
});
