import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { executorFee } from '../../contracts-abi/fill-pricing.ts';
import {
  type AuctionTerms,
  judgeArming,
  neededTolerance,
  secondsUntilTolerance,
  toleranceAt,
} from './arming.ts';

const NOW = 1_800_000_000n;
const terms: AuctionTerms = {
  slippageBps: 100n,
  capBps: 500n,
  armedAt: 0n,
  deadline: NOW + 86_400n,
  hardFloorGross: 0n,
};

describe('the executor fee', () => {
  test('is max($0.25, 0.15%), at most 1%', () => {
    expect(executorFee(5_000_000n)).toBe(50_000n);
    expect(executorFee(25_000_000n)).toBe(250_000n);
    expect(executorFee(100_000_000n)).toBe(250_000n);
    expect(executorFee(1_000_000_000n)).toBe(1_500_000n);
  });
});

describe('an order whose fill misses its floor', () => {
  test('is armed when the widening will reach what the fill needs', () => {
    // The floor is 99% of a value of 1,000; the fill yields 98%.
    expect(judgeArming('sell', { got: 980n, floor: 990n }, terms, NOW)).toEqual({
      tag: 'arm',
      neededBps: 200n,
      fillableAt: NOW + 450n,
    });
  });

  test('is waited for when its auction runs already', () => {
    const armed = { ...terms, armedAt: NOW - 100n };
    const floor = (1_000n * (10_000n - toleranceAt(armed, NOW))) / 10_000n;
    const verdict = judgeArming('sell', { got: 970n, floor }, armed, NOW);
    expect(verdict).toMatchObject({ tag: 'wait' });
  });

  test('is armed again once the old arming has run out', () => {
    const ended = { ...terms, armedAt: NOW - 3_600n };
    expect(judgeArming('sell', { got: 980n, floor: 990n }, ended, NOW).tag).toBe('arm');
    const almost = { ...terms, armedAt: NOW - 3_599n };
    expect(judgeArming('sell', { got: 940n, floor: 950n }, almost, NOW).tag).toBe('pointless');
  });

  test('is left alone beyond its cap, below its hard floor, and when it expires first', () => {
    expect(judgeArming('sell', { got: 900n, floor: 990n }, terms, NOW)).toEqual({
      tag: 'pointless',
      why: 'beyond_cap',
    });
    expect(
      judgeArming('sell', { got: 980n, floor: 990n }, { ...terms, hardFloorGross: 985n }, NOW),
    ).toEqual({
      tag: 'pointless',
      why: 'hard_floor',
    });
    expect(
      judgeArming('sell', { got: 980n, floor: 990n }, { ...terms, deadline: NOW + 450n }, NOW),
    ).toEqual({
      tag: 'pointless',
      why: 'expires_first',
    });
  });
});

const misses = fc.record({
  got: fc.bigInt(1n, 10n ** 24n),
  value: fc.bigInt(1_000_000n, 10n ** 24n),
  current: fc.bigInt(0n, 500n),
});

test('a sale passes at the tolerance said to be needed', () => {
  fc.assert(
    fc.property(misses, ({ got, value, current }) => {
      const floor = (value * (10_000n - current) + 9_999n) / 10_000n;
      const needed = neededTolerance('sell', { got, floor }, current);
      // value recovered from the floor that the contract reports
      expect(got * (10_000n - current)).toBeGreaterThanOrEqual(floor * (10_000n - needed));
    }),
  );
});

test('a buy passes at the tolerance said to be needed', () => {
  fc.assert(
    fc.property(misses, ({ got, value, current }) => {
      const floor = (value * 10_000n + 10_000n + current - 1n) / (10_000n + current);
      const needed = neededTolerance('limit', { got, floor }, current);
      expect(got * (10_000n + needed)).toBeGreaterThanOrEqual(floor * (10_000n + current));
    }),
  );
});

test('the tolerance is reached at the second said, and not before', () => {
  fc.assert(
    fc.property(
      fc.bigInt(1n, 499n),
      fc.bigInt(1n, 500n),
      fc.bigInt(0n, 600n),
      (slippageBps, widening, neededBps) => {
        const capBps = slippageBps + widening > 500n ? 500n : slippageBps + widening;
        const armed = { ...terms, slippageBps, capBps, armedAt: NOW };
        const seconds = secondsUntilTolerance(armed, neededBps);
        const reached = (at: bigint): boolean => toleranceAt(armed, NOW + at) >= neededBps;
        expect(reached(1_800n)).toBe(seconds !== null);
        expect(seconds === null || reached(seconds)).toBe(true);
        expect(seconds === null || seconds === 0n || !reached(seconds - 1n)).toBe(true);
      },
    ),
  );
});
