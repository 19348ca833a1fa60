import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeDuty } from './duty.ts';
import { gasCostUsdg } from '../../runtime/money/gas-cost.ts';

const market = { gasPriceWei: 10n ** 8n, ethPrice: 3_000n * 10n ** 18n };
const rules = { gasPriceHeadroomBps: 0n, gasLimitHeadroomBps: 2_000n };

describe('work that others depend on', () => {
  // 500,000 gas at 0.1 gwei and $3,000 is $0.15; with its headroom $0.18.
  test('is done at a loss, at up to twice the gas price, all of which is at risk', () => {
    expect(judgeDuty(100_000n, 500_000n, 1_000_000n, market, rules)).toEqual({
      tag: 'duty',
      gasLimit: 600_000n,
      maxFeePerGas: 2n * market.gasPriceWei,
      costUsdg: 150_000n,
      atRiskUsdg: 360_000n,
    });
  });

  test('is done with the last of the budget, which then bounds the gas price', () => {
    expect(judgeDuty(0n, 500_000n, 180_000n, market, rules)).toEqual({
      tag: 'duty',
      gasLimit: 600_000n,
      maxFeePerGas: market.gasPriceWei,
      costUsdg: 150_000n,
      atRiskUsdg: 180_000n,
    });
  });

  test('is left where the budget would not hold should it fail, and on a price that is not known', () => {
    expect(judgeDuty(20_000n, 500_000n, 179_999n, market, rules)).toEqual({
      tag: 'over_budget',
      lossUsdg: 160_000n,
      atRiskUsdg: 180_000n,
    });
    expect(judgeDuty(0n, 500_000n, 10n ** 9n, { ...market, ethPrice: null }, rules).tag).toBe(
      'unknown_price',
    );
  });

  test('that earns its gas needs no budget, and costs no more than it earns', () => {
    expect(judgeDuty(180_000n, 500_000n, 0n, market, rules)).toEqual({
      tag: 'breaks_even',
      gasLimit: 600_000n,
      maxFeePerGas: market.gasPriceWei,
      costUsdg: 150_000n,
    });
  });

  test('never puts more at risk than what is left, at whatever price and gas it is mined', () => {
    const amount = fc.bigInt(0n, 10n ** 9n);
    fc.assert(
      fc.property(
        amount,
        fc.bigInt(21_000n, 30_000_000n),
        amount,
        fc.bigInt(1n, 10n ** 11n),
        fc.bigInt(1n, 10n ** 23n),
        fc.bigInt(0n, 20_000n),
        fc.bigInt(0n, 20_000n),
        (gain, gas, left, gasPriceWei, ethPrice, gasPriceHeadroomBps, gasLimitHeadroomBps) => {
          const verdict = judgeDuty(
            gain,
            gas,
            left,
            { gasPriceWei, ethPrice },
            { gasPriceHeadroomBps, gasLimitHeadroomBps },
          );
          if (verdict.tag !== 'duty' && verdict.tag !== 'breaks_even') return;
          const worst = gasCostUsdg(verdict.gasLimit, verdict.maxFeePerGas, ethPrice);
          expect(worst).toBeLessThanOrEqual(verdict.tag === 'duty' ? left : gain);
          if (verdict.tag === 'duty') expect(verdict.atRiskUsdg).toBe(worst);
          expect(verdict.gasLimit).toBeGreaterThanOrEqual(gas);
          expect(verdict.maxFeePerGas).toBeGreaterThanOrEqual(gasPriceWei);
        },
      ),
    );
  });
});
