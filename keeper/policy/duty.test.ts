import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeDuty } from './duty.ts';
import { gasCostUsdg } from './profit.ts';

const market = { gasPriceWei: 10n ** 8n, ethPrice: 3_000n * 10n ** 18n };
const rules = { gasPriceHeadroomBps: 0n };

describe('work that others depend on', () => {
  test('is done at a loss within the budget, which bounds the gas price too', () => {
    // 500,000 gas at 0.1 gwei and $3,000: $0.15.
    expect(judgeDuty(100_000n, 500_000n, 1_000_000n, market, rules)).toEqual({
      tag: 'duty',
      lossUsdg: 50_000n,
      costUsdg: 150_000n,
      maxFeePerGas: 733_333_333n,
    });
  });

  test('is left once the budget is spent, and on a price that is not known', () => {
    expect(judgeDuty(0n, 500_000n, 149_999n, market, rules)).toEqual({
      tag: 'over_budget',
      lossUsdg: 150_000n,
      leftUsdg: 149_999n,
    });
    expect(judgeDuty(0n, 500_000n, 10n ** 9n, { ...market, ethPrice: null }, rules).tag).toBe(
      'unknown_price',
    );
  });

  test('never spends more than its gain and what is left, at whatever price it is mined', () => {
    const amount = fc.bigInt(0n, 10n ** 9n);
    fc.assert(
      fc.property(
        amount,
        fc.bigInt(21_000n, 30_000_000n),
        amount,
        fc.bigInt(1n, 10n ** 11n),
        fc.bigInt(1n, 10n ** 23n),
        fc.bigInt(0n, 20_000n),
        (gain, gas, left, gasPriceWei, ethPrice, gasPriceHeadroomBps) => {
          const verdict = judgeDuty(
            gain,
            gas,
            left,
            { gasPriceWei, ethPrice },
            { gasPriceHeadroomBps },
          );
          if (verdict.tag !== 'duty') return;
          expect(verdict.lossUsdg).toBeLessThanOrEqual(left);
          expect(gasCostUsdg(gas, verdict.maxFeePerGas, ethPrice)).toBeLessThanOrEqual(gain + left);
          expect(verdict.maxFeePerGas).toBeGreaterThanOrEqual(gasPriceWei);
        },
      ),
    );
  });
});
