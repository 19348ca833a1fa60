import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buyRequest, sellRequest } from '../schemas/transactions.ts';
import { exactNumbers } from './exact-numbers.ts';

const address = '0x00000000000000000000000000000000000000aa';
const read = (text: string) => exactNumbers(JSON.parse(text), text);
const amountOf = (literal: string) =>
  buyRequest.parse(read(`{"ticker":"A","address":"${address}","amountUsdg":${literal}}`))
    .amountUsdg;

describe('numbers of a body', () => {
  it('are floored as they were written, not as the nearest double', () => {
    expect(amountOf('4.9999999999999999999')).toBe(4_999_999n);
    expect(amountOf('999999999.9999999999999')).toBe(999_999_999_999_999n);
    expect(amountOf(String(0.1 + 0.2))).toBe(300_000n);
    expect(amountOf('12345678.1234567')).toBe(12_345_678_123_456n);
    expect(amountOf('1.5e2')).toBe(150_000_000n);
    expect(amountOf('150000000000000000000e-18')).toBe(150_000_000n);
    expect(amountOf('0.00000100000000000000000001')).toBe(1n);
    for (const literal of ['1e21', '1e400', '-5', '0.0000009999999999999999']) {
      expect(() => amountOf(literal)).toThrow(/dollars/);
    }
  });

  it('whatever is written, no amount is above it and none is a base unit short', () => {
    const digits = fc.stringMatching(/^[0-9]{1,30}$/);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999_999 }), digits, (whole, fraction) => {
        const floored = BigInt(`${whole}${fraction.slice(0, 6).padEnd(6, '0')}`);
        fc.pre(floored > 0n);
        expect(amountOf(`${whole}.${fraction}`)).toBe(floored);
      }),
    );
  });

  it('keep every digit that a client could have printed from a double', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(read(JSON.stringify({ value }))).toEqual({ value: value === 0 ? 0 : value });
      }),
    );
    const third = sellRequest.parse(
      read(`{"ticker":"A","address":"${address}","shares":"max","fraction":${1 / 3}}`),
    );
    expect(third.fraction).toBe(333_333_333_333_333_300n);
  });

  it('take no longer than their length, however they are written', () => {
    const many = 200_000;
    const zeros = '0'.repeat(many);
    const literals = [
      `1${zeros}1`,
      `1.${zeros}1`,
      `0.${zeros}1`,
      `${'9'.repeat(many)}e-${many}`,
      `1${zeros}`,
      `[${'1.00000000000000001,'.repeat(many / 20)}1]`,
      `"${'\\\\'.repeat(many / 2)}${'1'.repeat(many)}"`,
    ];
    for (const literal of literals) {
      const started = performance.now();
      read(`{"x":${literal},"y":12345678901234567890}`);
      // A few milliseconds; a minute and more where the work grows with the square.
      expect(performance.now() - started).toBeLessThan(3_000);
    }
  });

  it('leave strings alone, whatever they hold', () => {
    const body = { a: '12345678901234567890.5', 'k"1234567890123456789': ['x\\"', 1, null, true] };
    expect(read(JSON.stringify(body))).toEqual(body);
  });
});
