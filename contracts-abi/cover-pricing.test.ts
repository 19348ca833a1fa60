import fc from 'fast-check';
import { expect, it } from 'vitest';
import { coverFeeOf, premiumOf, sessionCeiling, takeCostOf } from './cover-pricing.ts';

/** Whole cents per $1,000, as the market lists them. */
const price = fc.bigInt({ min: 1n, max: 100_000n }).map((cents) => cents * 10_000n);
const cover = fc.bigInt({ min: 1n, max: 10n ** 9n });

it('a premium is exact at whole cents, so that only the fee of a part is rounded, and that up', () => {
  fc.assert(
    fc.property(cover, price, (dollars, per1k) => {
      const premium = premiumOf(dollars, per1k);
      expect(premium * 1_000n).toBe(dollars * per1k);
      const fee = coverFeeOf(premium);
      expect(fee * 100n >= premium && (fee - 1n) * 100n < premium).toBe(true);
      expect(takeCostOf(dollars, per1k)).toBe(premium + fee);
    }),
  );
});

it('parts cost at least the whole, and at most a base unit a part more', () => {
  fc.assert(
    fc.property(fc.array(cover, { minLength: 1, maxLength: 20 }), price, (parts, per1k) => {
      const apart = parts.reduce((sum, part) => sum + takeCostOf(part, per1k), 0n);
      const whole = takeCostOf(
        parts.reduce((sum, part) => sum + part, 0n),
        per1k,
      );
      expect(apart >= whole && apart - whole < BigInt(parts.length)).toBe(true);
    }),
  );
});

it('a session key pays at most 3% of the cover', () => {
  expect(sessionCeiling(1_000n)).toBe(30_000_000n);
  expect(sessionCeiling(51n)).toBe(1_530_000n);
});
