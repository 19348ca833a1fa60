import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterRefusal, afterSuccess, initialRange, type RangePolicy } from './ranges.ts';

/** Asks until `blocks` are read from a node that refuses more than `cap`; returns the number of calls. */
function calls(blocks: number, cap: number, max: number): number {
  let policy: RangePolicy = initialRange(max);
  let count = 0;
  for (let read = 0; read < blocks; ) {
    const asked = Math.min(policy.size, blocks - read);
    count += 1;
    if (asked > cap) {
      policy = afterRefusal(policy, asked);
    } else {
      read += asked;
      policy = afterSuccess(policy, max);
    }
    if (count > blocks * 4 + 100) throw new Error('does not end');
  }
  return count;
}

describe('adaptive ranges', () => {
  it('complete at any cap, with few wasted calls', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3_000 }), (cap) => {
        const blocks = 20_000;
        const best = Math.ceil(blocks / cap);
        expect(calls(blocks, cap, 10_000)).toBeLessThan(best * 1.5 + 40);
      }),
    );
  });

  it('never ask for more than the configured most, nor for less than one block', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 300 }), (outcomes) => {
        let policy = initialRange(1_000);
        for (const ok of outcomes) {
          policy = ok ? afterSuccess(policy, 1_000) : afterRefusal(policy, policy.size);
          expect(policy.size).toBeGreaterThanOrEqual(1);
          expect(policy.size).toBeLessThanOrEqual(1_000);
        }
      }),
    );
  });

  it('recover the full range after a passing trouble', () => {
    let policy = afterRefusal(initialRange(1_000), 1_000);
    for (let step = 0; step < 200; step += 1) policy = afterSuccess(policy, 1_000);
    expect(policy.size).toBe(1_000);
  });
});
