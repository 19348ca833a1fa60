import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutIntoBatches, gasShare, isCheaper, MOST_BATCH_GAS } from './batch.ts';

const works = fc.array(
  fc.bigInt(21_000n, MOST_BATCH_GAS + 1n).map((gas) => ({ gas })),
  { maxLength: 60 },
);

describe('batches', () => {
  test('hold everything once, in order, within members and gas', () => {
    fc.assert(
      fc.property(works, fc.integer({ min: 1, max: 20 }), (ready, most) => {
        const batches = cutIntoBatches(ready, most);
        expect(batches.flat()).toEqual(ready);
        for (const batch of batches) {
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(most);
          const gas = batch.reduce((sum, one) => sum + one.gas, 0n);
          expect(batch.length === 1 || gas <= MOST_BATCH_GAS).toBe(true);
        }
      }),
    );
  });

  test('are worth it only where they cost less', () => {
    expect(isCheaper(999n, [500n, 500n])).toBe(true);
    expect(isCheaper(1_000n, [500n, 500n])).toBe(false);
  });

  test('share their gas to the last unit', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 8n), fc.integer({ min: 1, max: 50 }), (gas, members) => {
        const shares = Array.from({ length: members }, (_, at) => gasShare(gas, members, at));
        expect(shares.reduce((sum, share) => sum + share, 0n)).toBe(gas);
      }),
    );
  });
});
