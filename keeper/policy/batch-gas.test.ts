import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBatchGas } from './batch-gas.ts';

const seen = (...batches: readonly [gasUsed: bigint, sum: bigint][]) => {
  const gas = createBatchGas();
  for (const [index, [gasUsed, sum]] of batches.entries()) {
    gas.sent(`b${index}`, sum);
    // Each member tells of it.
    for (let member = 0; member < 2; member += 1) gas.mined(`b${index}`, gasUsed, true);
  }
  return gas;
};

test('the dearest of three mined batches speaks for the next; before that the whole sum is expected', () => {
  expect(seen([70n, 100n], [70n, 100n]).expected(1_000n)).toBe(1_000n);
  expect(seen([70n, 100n], [81n, 100n], [60n, 100n]).expected(1_000n)).toBe(810n);
  // Rounded up twice.
  expect(seen([1n, 3n], [1n, 3n], [1n, 3n]).expected(100n)).toBe(34n);
});

test('a batch in which a member did not run takes back what was learned, and teaches nothing', () => {
  const gas = seen([70n, 100n], [70n, 100n], [70n, 100n]);
  gas.sent('x', 100n);
  gas.mined('x', 50n, true);
  gas.mined('x', 50n, false);
  gas.mined('x', 50n, true);
  expect(gas.expected(1_000n)).toBe(1_000n);
  gas.sent('y', 100n);
  gas.mined('y', 60n, true);
  gas.mined('b1', 70n, true);
  expect(gas.expected(1_000n)).toBe(1_000n);
  gas.mined('b2', 70n, true);
  expect(gas.expected(1_000n)).toBe(700n);
});

test('never more than the sum is expected, nor less than any of the last twenty used', () => {
  const batch = fc.tuple(fc.bigInt(1n, 20_000_000n), fc.bigInt(1n, 20_000_000n));
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 30 }), fc.bigInt(1n, 50_000_000n), (batches, sum) => {
      const expected = seen(...batches).expected(sum);
      expect(expected).toBeLessThanOrEqual(sum);
      for (const [gasUsed, known] of batches.slice(-20)) {
        if (gasUsed <= known) expect(expected * known).toBeGreaterThanOrEqual(sum * gasUsed);
      }
    }),
  );
  // Of what another process sent nothing is known.
  const gas = createBatchGas();
  for (const carrier of ['a', 'b', 'c']) gas.mined(carrier, 1n, true);
  expect(gas.expected(100n)).toBe(100n);
});
