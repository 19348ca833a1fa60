import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBatchGas } from './batch-gas.ts';

const seen = (...batches: readonly [gasUsed: bigint, sum: bigint][]) => {
  const gas = createBatchGas();
  for (const [index, [gasUsed, sum]] of batches.entries()) {
    gas.sent(`b${index}`, 'CORE', sum);
    // Each member tells of it.
    for (let member = 0; member < 2; member += 1) gas.mined(`b${index}`, gasUsed, true);
  }
  return gas;
};

test('the dearest of three mined batches speaks for the next of its baskets; before that the whole sum is expected', () => {
  expect(seen([40n, 100n], [40n, 100n]).expected('CORE', 1_000n)).toBe(1_000n);
  // A quarter more than what was used was needed at most.
  const gas = seen([40n, 100n], [60n, 100n], [50n, 100n]);
  expect(gas.expected('CORE', 1_000n)).toBe(750n);
  expect(gas.expected('CORE,TECH', 1_000n)).toBe(1_000n);
  // Rounded up twice.
  expect(seen([1n, 3n], [1n, 3n], [1n, 3n]).expected('CORE', 100n)).toBe(42n);
});

test('a batch in which a member did not run takes back what was learned, and teaches nothing', () => {
  const gas = seen([40n, 100n], [40n, 100n], [40n, 100n]);
  gas.sent('x', 'CORE', 100n);
  gas.mined('x', 50n, true);
  gas.mined('x', 50n, false);
  gas.mined('x', 50n, true);
  expect(gas.expected('CORE', 1_000n)).toBe(1_000n);
  gas.sent('y', 'CORE', 100n);
  gas.mined('y', 40n, true);
  gas.mined('b1', 40n, true);
  expect(gas.expected('CORE', 1_000n)).toBe(1_000n);
  gas.mined('b2', 40n, true);
  expect(gas.expected('CORE', 1_000n)).toBe(500n);
});

test('never more than the sum is expected, nor less than any of the last twenty needed', () => {
  const batch = fc.tuple(fc.bigInt(1n, 20_000_000n), fc.bigInt(1n, 20_000_000n));
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 30 }), fc.bigInt(1n, 50_000_000n), (batches, sum) => {
      const expected = seen(...batches).expected('CORE', sum);
      expect(expected).toBeLessThanOrEqual(sum);
      for (const [gasUsed, known] of batches.slice(-20)) {
        if (gasUsed * 5n <= known * 4n) {
          expect(expected * known * 4n).toBeGreaterThanOrEqual(sum * gasUsed * 5n);
        } else if (batches.length >= 3) expect(expected).toBe(sum);
      }
    }),
  );
  // Of what another process sent nothing is known.
  const gas = createBatchGas();
  for (const carrier of ['a', 'b', 'c']) gas.mined(carrier, 1n, true);
  expect(gas.expected('CORE', 100n)).toBe(100n);
});
