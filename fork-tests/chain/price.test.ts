import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  fullRange,
  liquidityOf,
  PRICE_SCALE,
  priceAt,
  sqrtPriceAt,
  squareRoot,
  toScaled,
} from './price.ts';

const LOW = '0x1000000000000000000000000000000000000001';
const HIGH = '0xf000000000000000000000000000000000000001';

const pairs = fc.record({
  tokenFirst: fc.boolean(),
  tokenDecimals: fc.constantFrom(6, 8, 18),
  quoteDecimals: fc.constantFrom(6, 18),
});

const pairOf = (shape: { tokenFirst: boolean; tokenDecimals: number; quoteDecimals: number }) =>
  ({
    token: shape.tokenFirst ? LOW : HIGH,
    quote: shape.tokenFirst ? HIGH : LOW,
    tokenDecimals: shape.tokenDecimals,
    quoteDecimals: shape.quoteDecimals,
  }) as const;

describe('pool prices', () => {
  test('survive the way to a square-root price and back, in both token orders and any decimals', () => {
    fc.assert(
      fc.property(pairs, fc.double({ min: 0.5, max: 200_000, noNaN: true }), (shape, dollars) => {
        const price = toScaled(dollars);
        const back = priceAt(pairOf(shape), sqrtPriceAt(pairOf(shape), price));
        const difference = back > price ? back - price : price - back;
        // A millionth: the square root keeps 96 fractional bits, the least price here uses some 20 of them.
        expect(difference * 1_000_000n <= price).toBe(true);
      }),
    );
  });

  test('liquidity is the quote side over the square root, whichever side that is', () => {
    const pair = pairOf({ tokenFirst: true, tokenDecimals: 18, quoteDecimals: 6 });
    const flipped = pairOf({ tokenFirst: false, tokenDecimals: 18, quoteDecimals: 6 });
    const depth = 1_000_000_000_000n;
    const price = 180n * PRICE_SCALE;
    const a = liquidityOf(pair, sqrtPriceAt(pair, price), depth);
    const b = liquidityOf(flipped, sqrtPriceAt(flipped, price), depth);
    expect(Number(a) / Number(b)).toBeCloseTo(1, 6);
  });

  test('ranges are multiples of the tick spacing and an unknown tier is refused', () => {
    expect(fullRange(500)).toEqual({ lower: -887_270, upper: 887_270 });
    expect(fullRange(3000)).toEqual({ lower: -887_220, upper: 887_220 });
    expect(fullRange(10_000)).toEqual({ lower: -887_200, upper: 887_200 });
    expect(() => fullRange(2_500)).toThrow(RangeError);
  });

  test('floats scale without losing their digits', () => {
    expect(toScaled(0)).toBe(0n);
    expect(toScaled(1)).toBe(PRICE_SCALE);
    expect(toScaled(402.5)).toBe(402_500_000_000_000_000_000n);
    expect(toScaled(1e-6)).toBe(1_000_000_000_000n);
    expect(() => toScaled(Number.NaN)).toThrow(RangeError);
    expect(() => toScaled(-1)).toThrow(RangeError);
  });

  test('the integer square root is the floor', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1n << 300n }), (value) => {
        const root = squareRoot(value);
        expect(root * root <= value && (root + 1n) * (root + 1n) > value).toBe(true);
      }),
    );
  });
});
