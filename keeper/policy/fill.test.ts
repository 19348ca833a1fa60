import { describe, expect, test } from 'vitest';
import { type FillRules, judgeFill, withHeadroom } from './fill.ts';

const rules: FillRules = {
  minProfitUsdg: 10_000n,
  marginBps: 0n,
  gasPriceHeadroomBps: 0n,
  feeToleranceBps: 100n,
  gasLimitHeadroomBps: 5_000n,
};
const market = { gasPriceWei: 10n ** 8n, ethPrice: 3_000n * 10n ** 18n };
const passed = { gainUsdg: 250_000n, feeUsdg: 250_000n, gas: 500_000n };

describe('a fill that passed its simulation', () => {
  test('is sent with a gas limit above the estimate and a bounded gas price', () => {
    expect(judgeFill(passed, 250_000n, market, rules)).toEqual({
      tag: 'send',
      gasLimit: 750_000n,
      maxFeePerGas: 160_000_000n,
      costUsdg: 150_000n,
      profitUsdg: 100_000n,
    });
  });

  test('is not sent when our balance gains less than the fill says it pays', () => {
    expect(judgeFill({ ...passed, gainUsdg: 249_999n }, 0n, market, rules)).toEqual({
      tag: 'short_fee',
      gainUsdg: 249_999n,
      leastUsdg: 250_000n,
    });
  });

  test('is not sent when it gains clearly less than promised, but small moves are tolerated', () => {
    expect(judgeFill(passed, 252_525n, market, rules).tag).toBe('send');
    expect(judgeFill(passed, 260_000n, market, rules).tag).toBe('short_fee');
  });

  test('is judged by what was measured, not by what was promised', () => {
    const small = { gainUsdg: 150_000n, feeUsdg: 150_000n, gas: 500_000n };
    expect(judgeFill(small, 0n, market, rules).tag).toBe('does_not_pay');
    expect(judgeFill(passed, 0n, market, rules).tag).toBe('send');
  });
});

test('headroom rounds up', () => {
  expect(withHeadroom(3n, { gasLimitHeadroomBps: 5_000n })).toBe(5n);
});
