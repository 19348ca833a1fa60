import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buyGrossWithin, executorFee, limitGrossWithin, mintFee } from './fill-pricing.ts';

const amount = fc.bigInt({ min: 5_000_000n, max: 10n ** 15n });

describe('fill pricing', () => {
  it.each([
    [5_000_000n, 50_000n], // $5: 1% is less than $0.25
    [25_000_000n, 250_000n], // $25: 1% is $0.25
    [100_000_000n, 250_000n], // $100: the minimum
    [1_000_000_000n, 1_500_000n], // $1,000: 0.15%
  ])('pays an executor of %s base units %s', (gross, fee) => {
    expect(executorFee(gross)).toBe(fee);
  });

  it('spends a limit buy to the last base unit that both fees leave', () => {
    fc.assert(
      fc.property(amount, (total) => {
        const all = (gross: bigint) => gross + mintFee(gross) + executorFee(gross);
        const gross = limitGrossWithin(total);
        expect(all(gross)).toBeLessThanOrEqual(total);
        expect(all(gross + 1n)).toBeGreaterThan(total);
      }),
    );
  });

  it('never lets a buy and its fee exceed the funds', () => {
    fc.assert(
      fc.property(amount, (funds) => {
        const gross = buyGrossWithin(funds);
        expect(gross + mintFee(gross)).toBeLessThanOrEqual(funds);
      }),
    );
  });
});
