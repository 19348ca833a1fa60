import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { chunksOf } from './scan.ts';

const order = fc.record({
  type: fc.constantFrom('sell' as const, 'limit' as const, 'schedule' as const),
  amount: fc.bigInt({ min: 1n, max: 12n }),
  basket: fc.constantFrom({ vault: '0xa' }, { vault: '0xb' }) as fc.Arbitrary<never>,
});
const quoteOf = ({ type, amount, basket }: { type: string; amount: bigint; basket: unknown }) =>
  `${type === 'sell'}:${amount}:${JSON.stringify(basket)}`;

test('due orders are asked about in their order, few different ones and not too many at once', () => {
  fc.assert(
    fc.property(fc.array(order, { maxLength: 150 }), (orders) => {
      const chunks = chunksOf(orders);
      expect(chunks.flat()).toEqual(orders);
      for (const chunk of chunks) {
        expect(chunk.length).toBeGreaterThan(0);
        expect(chunk.length).toBeLessThanOrEqual(32);
        expect(new Set(chunk.map(quoteOf)).size).toBeLessThanOrEqual(8);
      }
    }),
  );
});

test('a hundred alike take four calls, a hundred of a size of their own thirteen', () => {
  const basket = { vault: '0xa' } as never;
  const alike = Array.from({ length: 100 }, () => ({ type: 'limit' as const, amount: 5n, basket }));
  expect(chunksOf(alike).length).toBe(4);
  const apart = alike.map((one, index) => ({ ...one, amount: BigInt(index) }));
  expect(chunksOf(apart).length).toBe(13);
});
