import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  executionCap,
  type Fees,
  firstFees,
  MOST_ATTEMPTS,
  raisedFees,
  stuckStep,
  withHeadroom,
} from './fees.ts';

const GWEI = 10n ** 9n;
const wei = fc.bigInt({ min: 0n, max: 10_000n * GWEI });
const limits = fc.record({
  cap: fc.bigInt({ min: 1n, max: 10_000n * GWEI }),
  intentCap: fc.option(wei),
  bumpPercent: fc.integer({ min: 10, max: 200 }),
});

describe('fees', () => {
  it('a first attempt pays at least the base fee and never more than any limit', () => {
    fc.assert(
      fc.property(wei, wei, limits, (baseFee, tip, limit) => {
        const decision = firstFees(baseFee, tip, limit);
        if (decision.tag === 'over_cap') return decision.needed > executionCap(limit);
        const { maxFee, tip: paid } = decision.fees;
        const enough = maxFee >= baseFee && maxFee >= paid;
        return enough && maxFee <= limit.cap && maxFee <= (limit.intentCap ?? limit.cap);
      }),
    );
  });

  it('every replacement raises both fees by the bump, whatever the base fee did, within the cap', () => {
    fc.assert(
      fc.property(
        wei,
        fc.array(fc.tuple(wei, fc.boolean()), { maxLength: 40 }),
        limits,
        (tip, moves, limit) => {
          const first = firstFees(GWEI, tip, limit);
          if (first.tag === 'over_cap') return;
          let fees: Fees = first.fees;
          for (const [baseFee, cancel] of moves) {
            const next = raisedFees(fees, baseFee, tip, cancel ? 'cancel' : 'execute', limit);
            if (next.tag === 'over_cap') continue;
            const factor = BigInt(100 + limit.bumpPercent);
            expect(next.fees.maxFee * 100n >= fees.maxFee * factor).toBe(true);
            expect(next.fees.tip * 100n >= fees.tip * factor).toBe(true);
            expect(next.fees.maxFee > fees.maxFee && next.fees.tip > fees.tip).toBe(true);
            expect(next.fees.maxFee >= baseFee && next.fees.maxFee >= next.fees.tip).toBe(true);
            expect(next.fees.maxFee <= (cancel ? limit.cap : executionCap(limit))).toBe(true);
            fees = next.fees;
          }
        },
      ),
    );
  });

  it('leaves room for a cancel above every execution', () => {
    fc.assert(
      fc.property(limits, wei, (limit, tip) => {
        // A tip near the cap is the operator's mistake, not a fee that has to be outbid.
        fc.pre(tip * 4n < limit.cap);
        const top = { maxFee: executionCap(limit), tip };
        const cancel = raisedFees(top, 0n, tip, 'cancel', limit);
        expect(cancel.tag).toBe('fees');
      }),
    );
  });

  it('adds headroom and rounds up', () => {
    expect(withHeadroom(21_000n, 50)).toBe(31_500n);
    expect(withHeadroom(3n, 10)).toBe(4n);
    expect(withHeadroom(100n, 0)).toBe(100n);
  });
});

describe('stuckStep', () => {
  const view = {
    waitedMs: 30_000,
    stuckAfterMs: 20_000,
    expired: false,
    rejected: false,
    newestRole: 'execute',
    attempts: 1,
  } as const;

  it.each([
    [{}, 'replace'],
    [{ waitedMs: 19_999 }, 'wait'],
    [{ expired: true }, 'cancel'],
    [{ rejected: true, waitedMs: 0 }, 'cancel'],
    [{ newestRole: 'cancel' as const }, 'raise_cancel'],
    [{ newestRole: 'cancel' as const, rejected: true, waitedMs: 0 }, 'wait'],
    [{ attempts: MOST_ATTEMPTS }, 'wait'],
    [{ attempts: MOST_ATTEMPTS, rejected: true }, 'wait'],
  ])('%o leads to %s', (change, step) => {
    expect(stuckStep({ ...view, ...change })).toBe(step);
  });
});
