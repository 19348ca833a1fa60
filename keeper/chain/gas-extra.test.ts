import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGasExtras } from './gas-extra.ts';

test('an estimate speaks for its kind, for a while', () => {
  let nowMs = 0;
  const extras = createGasExtras({ now: () => nowMs, maxAgeMs: 1_000 });
  expect(extras.recent('sell:HEALTH')).toBeNull();
  extras.learn('sell:HEALTH', 130n, 100n);
  expect(extras.recent('sell:HEALTH')).toBe(30n);
  expect(extras.recent('sell:ADS')).toBeNull();
  nowMs = 1_000;
  expect(extras.recent('sell:HEALTH')).toBe(30n);
  nowMs = 1_001;
  expect(extras.recent('sell:HEALTH')).toBeNull();
});

test('the largest of those side by side speaks, and a later one does not lengthen its time', () => {
  let nowMs = 0;
  const extras = createGasExtras({ now: () => nowMs, maxAgeMs: 1_000 });
  extras.learn('a', 150n, 100n);
  nowMs = 900;
  extras.learn('a', 120n, 100n);
  expect(extras.recent('a')).toBe(50n);
  nowMs = 1_100;
  expect(extras.recent('a')).toBeNull();
  extras.learn('a', 120n, 100n);
  expect(extras.recent('a')).toBe(20n);
});

test('an estimate below what was used adds nothing, and takes nothing away', () => {
  const extras = createGasExtras({ now: () => 0 });
  extras.learn('a', 90n, 100n);
  expect(extras.recent('a')).toBe(0n);
});

test('never less than any estimate within its time said, and never more kinds than its bound', () => {
  const learned = fc.record({
    kind: fc.integer({ min: 0, max: 9 }),
    estimated: fc.bigInt({ min: 0n, max: 10n ** 7n }),
    used: fc.bigInt({ min: 0n, max: 10n ** 7n }),
  });
  fc.assert(
    fc.property(fc.array(learned, { maxLength: 60 }), (all) => {
      const extras = createGasExtras({ now: () => 0, capacity: 4 });
      for (const { kind, estimated, used } of all) {
        extras.learn(String(kind), estimated, used);
        expect(extras.recent(String(kind))).toBeGreaterThanOrEqual(
          estimated > used ? estimated - used : 0n,
        );
      }
      const kept = Array.from({ length: 10 }, (_, kind) => extras.recent(String(kind)));
      expect(kept.filter((extra) => extra !== null).length).toBeLessThanOrEqual(4);
    }),
  );
});
