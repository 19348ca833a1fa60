import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gasCostUsdg } from '../../runtime/money/gas-cost.ts';
import { judgeProfit, maxGasPrice, neededFee, type ProfitRules } from './profit.ts';

const DOLLAR = 10n ** 18n;
const GWEI = 10n ** 9n;
const rules: ProfitRules = {
  minProfitUsdg: 10_000n,
  marginBps: 1_000n,
  gasPriceHeadroomBps: 2_500n,
};

describe('the cost of gas', () => {
  test('is gas times price times the ETH price, in USDG base units', () => {
    // 1,000,000 gas at 0.1 gwei is 0.0001 ETH; at $3,000 that is $0.30.
    expect(gasCostUsdg(1_000_000n, GWEI / 10n, 3_000n * DOLLAR)).toBe(300_000n);
  });

  test('rounds up', () => {
    expect(gasCostUsdg(1n, 1n, 1n)).toBe(1n);
  });
});

describe('a fee is judged', () => {
  const market = { gasPriceWei: GWEI / 10n, ethPrice: 3_000n * DOLLAR };

  test('with headroom on the gas price, a margin on the cost and a least profit', () => {
    // Cost with 25% headroom: $0.375; margin of 10%: $0.0375.
    expect(judgeProfit(412_500n, 1_000_000n, market, rules)).toMatchObject({
      tag: 'pays',
      costUsdg: 375_000n,
      profitUsdg: 37_500n,
    });
    expect(judgeProfit(412_499n, 1_000_000n, market, rules)).toEqual({
      tag: 'does_not_pay',
      costUsdg: 375_000n,
      neededUsdg: 412_500n,
    });
  });

  test('as unknown without an ETH price, however large the fee', () => {
    for (const ethPrice of [null, 0n, -1n]) {
      expect(judgeProfit(10n ** 12n, 1n, { gasPriceWei: 1n, ethPrice }, rules).tag).toBe(
        'unknown_price',
      );
    }
  });
});

const amounts = fc.record({
  feeUsdg: fc.bigInt(0n, 10n ** 10n),
  gas: fc.bigInt(21_000n, 30_000_000n),
  gasPriceWei: fc.bigInt(1n, 500n * GWEI),
  ethPrice: fc.bigInt(DOLLAR, 100_000n * DOLLAR),
  minProfitUsdg: fc.bigInt(0n, 1_000_000n),
  marginBps: fc.bigInt(0n, 20_000n),
});

test('nothing pays that would leave less than the least profit and the margin', () => {
  fc.assert(
    fc.property(amounts, ({ feeUsdg, gas, gasPriceWei, ethPrice, minProfitUsdg, marginBps }) => {
      const its = { minProfitUsdg, marginBps, gasPriceHeadroomBps: 2_500n };
      const verdict = judgeProfit(feeUsdg, gas, { gasPriceWei, ethPrice }, its);
      if (verdict.tag !== 'pays') return;
      const real = gasCostUsdg(gas, gasPriceWei, ethPrice);
      expect(feeUsdg - real).toBeGreaterThanOrEqual(minProfitUsdg);
      expect((feeUsdg - real) * 10_000n).toBeGreaterThanOrEqual(real * marginBps);
    }),
  );
});

test('a gas price at the cap still pays, and it is never below the price judged', () => {
  fc.assert(
    fc.property(amounts, ({ feeUsdg, gas, gasPriceWei, ethPrice, minProfitUsdg, marginBps }) => {
      const its = { minProfitUsdg, marginBps, gasPriceHeadroomBps: 0n };
      const cap = maxGasPrice(feeUsdg, gas, ethPrice, its);
      const atCap = gasCostUsdg(gas, cap, ethPrice);
      expect(cap === 0n || feeUsdg >= neededFee(atCap, its) - 1n).toBe(true);
      const verdict = judgeProfit(feeUsdg, gas, { gasPriceWei, ethPrice }, its);
      // Costs round up to a base unit, so a cap may lie just under a price that pays exactly.
      const clearlyPays = verdict.tag === 'pays' && feeUsdg > neededFee(verdict.costUsdg, its) + 2n;
      expect(!clearlyPays || verdict.maxFeePerGas >= gasPriceWei).toBe(true);
    }),
  );
});
