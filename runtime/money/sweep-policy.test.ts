import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeSweep, transactionsLeft } from './sweep-policy.ts';

const SWEEP = { floatUsdg: 10_000_000n, leastUsdg: 5_000_000n, periodMs: 3_600_000 };
const NOW = 1_800_000_000_000;

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

test('transactions left are whole, and none where a price is not known', () => {
  const market = { gasPriceWei: 125n };
  expect(transactionsLeft(124_999n, 1_000n, market)).toBe(0n);
  expect(transactionsLeft(250_000n, 1_000n, market)).toBe(2n);
  expect(transactionsLeft(250_000n, 1_000n, { gasPriceWei: 0n })).toBe(0n);
});
