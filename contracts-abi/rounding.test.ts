import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bpsDown,
  bpsUp,
  decimalTextOf,
  formatDecimal,
  minusBps,
  mulDivDown,
  mulDivUp,
  parseDecimal,
  plusBps,
  round8,
} from './rounding.ts';

const amount = fc.bigInt({ min: 0n, max: 10n ** 40n });
const divisor = fc.bigInt({ min: 1n, max: 10n ** 40n });

describe('rounding', () => {
  it('rounds up by at most one unit over rounding down, and never the other way', () => {
    fc.assert(
      fc.property(amount, amount, divisor, (a, b, d) => {
        const down = mulDivDown(a, b, d);
        const up = mulDivUp(a, b, d);
        expect(up - down === 0n || up - down === 1n).toBe(true);
        expect(down * d <= a * b && a * b <= up * d).toBe(true);
      }),
    );
  });

  it('never favours the caller: fees up, receipts down', () => {
    fc.assert(
      fc.property(amount, fc.bigInt({ min: 0n, max: 10_000n }), (a, bps) => {
        expect(bpsUp(a, bps) >= bpsDown(a, bps)).toBe(true);
        expect(plusBps(a, bps) * 10_000n >= a * (10_000n + bps)).toBe(true);
        expect(minusBps(a, bps) * 10_000n <= a * (10_000n - bps)).toBe(true);
      }),
    );
  });

  it('refuses negative input and a zero divisor', () => {
    expect(() => mulDivDown(1n, 1n, 0n)).toThrow(RangeError);
    expect(() => mulDivUp(-1n, 1n, 1n)).toThrow(RangeError);
  });

  it('formats and parses base units without loss', () => {
    fc.assert(
      fc.property(amount, fc.integer({ min: 0, max: 18 }), (a, decimals) => {
        expect(parseDecimal(formatDecimal(a, decimals), decimals)).toBe(a);
      }),
    );
    expect(formatDecimal(1_500_000n, 6)).toBe('1.5');
    expect(formatDecimal(-1n, 6)).toBe('-0.000001');
  });

  it('floors dollars to 6 decimals and refuses what is not a plain decimal', () => {
    expect(parseDecimal('10.9999999', 6)).toBe(10_999_999n);
    for (const text of ['', '-1', '1e3', '.5', '1.2.3', ' 1', '0x10', '1,5']) {
      expect(parseDecimal(text, 6)).toBeNull();
    }
  });

  it('writes a JSON number as the decimal text a person wrote', () => {
    expect(decimalTextOf(1e21)).toBe('1000000000000000000000');
    expect(decimalTextOf(1.5e-7)).toBe('0.00000015');
    expect(decimalTextOf(0.1)).toBe('0.1');
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e30, noNaN: true }), (value) => {
        expect(Number(decimalTextOf(value))).toBe(value);
        expect(decimalTextOf(value)).toMatch(/^\d+(\.\d+)?$/);
      }),
    );
  });

  it('keeps 8 significant digits of fractions and all digits of integers', () => {
    expect(round8(123.456789123)).toBe(123.45679);
    expect(round8(1_764_283_200_123)).toBe(1_764_283_200_123);
    expect(round8(0.000012345678912)).toBe(0.000012345679);
  });
});
