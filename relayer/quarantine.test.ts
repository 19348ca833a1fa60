import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countedSince,
  isQuarantined,
  judgeLosses,
  lossOf,
  type QuarantinePolicy,
  type Settled,
} from './quarantine.ts';

const HOUR = 3_600_000;
const policy: QuarantinePolicy = { limit: 1_000_000n, windowMs: HOUR, firstMs: 600_000 };
const reverted = (gas: bigint): Settled => ({ outcome: 'reverted', gas, fee: 0n });
const mined = (gas: bigint, fee: bigint): Settled => ({ outcome: 'mined', gas, fee });

describe('what a key has lost', () => {
  it('is the gas of its reverts, less what its other actions brought above their gas', () => {
    expect(lossOf([reverted(300n), reverted(200n)])).toBe(500n);
    expect(lossOf([reverted(300n), mined(100n, 150n)])).toBe(250n);
    expect(lossOf([mined(100n, 500n)])).toBe(0n);
    // A cancel pays no fee by right: it is no loss to answer for.
    expect(lossOf([mined(100n, 0n)])).toBe(0n);
  });
});

describe('a quarantine', () => {
  it('begins above the limit and not at it', () => {
    expect(judgeLosses([reverted(policy.limit)], null, 0, policy)).toBeNull();
    expect(judgeLosses([reverted(policy.limit + 1n)], null, 5, policy)).toEqual({
      strikes: 1,
      startedAt: 5,
      until: 5 + policy.firstMs,
      lost: policy.limit + 1n,
    });
  });

  it('doubles each time in a row, never beyond a day, and begins anew after a day without one', () => {
    const lost = [reverted(policy.limit + 1n)];
    let standing = judgeLosses(lost, null, 0, policy);
    const lengths: number[] = [];
    for (let turn = 0; turn < 12 && standing !== null; turn += 1) {
      lengths.push(standing.until - standing.startedAt);
      standing = judgeLosses(lost, standing, standing.until, policy);
    }
    expect(lengths.slice(0, 3)).toEqual([600_000, 1_200_000, 2_400_000]);
    expect(lengths.at(-1)).toBe(24 * HOUR);
    const calm = judgeLosses(lost, standing, (standing?.until ?? 0) + 24 * HOUR, policy);
    expect(calm?.strikes).toBe(1);
  });

  it('answers for what was lost before it ended: that is not counted again', () => {
    const first = judgeLosses([reverted(policy.limit + 1n)], null, 0, policy);
    expect(countedSince(first, 700_000, policy)).toBe(600_000);
    expect(countedSince(null, 2 * HOUR, policy)).toBe(HOUR);
  });

  it('ends by time alone, and is not begun again while it stands', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            outcome: fc.constantFrom('mined' as const, 'reverted' as const),
            gas: fc.bigInt(0n, 10_000_000n),
            fee: fc.bigInt(0n, 10_000_000n),
          }),
        ),
        fc.nat(10 * HOUR),
        fc.integer({ min: 1, max: 2_000 }),
        (settled, now, strikes) => {
          const standing = { strikes, startedAt: 0, until: HOUR, lost: 1n };
          const begun = judgeLosses(settled, standing, now, policy);
          if (now < HOUR) expect(begun).toBeNull();
          if (begun === null) return;
          expect(begun.lost).toBeGreaterThan(policy.limit);
          expect(begun.until - now).toBeGreaterThanOrEqual(policy.firstMs);
          expect(begun.until - now).toBeLessThanOrEqual(24 * HOUR);
          expect(isQuarantined(begun, begun.until)).toBe(false);
          expect(isQuarantined(begun, now)).toBe(true);
        },
      ),
    );
  });
});
