import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { capByLoss, type ForeignRun, isLoss, judgeBreaker, leastMoved } from './breaker.ts';
import { gasCostUsdg } from '../../runtime/money/gas-cost.ts';

const T = 1_800_000_000_000;
const HOUR = 3_600_000;
const rules = { windowMs: 24 * HOUR, mostLosses: 3, mostLossUsdg: 5_000_000n };

const run = (change: Partial<ForeignRun> = {}): ForeignRun => ({
  reverted: false,
  feeUsdg: 1_500_000n,
  costUsdg: 100_000n,
  leastUsdg: 1_485_000n,
  atMs: T,
  ...change,
});

describe('a transaction of another contract is a loss', () => {
  test.each<[string, Partial<ForeignRun>, boolean]>([
    ['not where it paid what it had to', {}, false],
    ['not at the least that it had to pay', { feeUsdg: 1_485_000n }, false],
    ['where it paid a unit less', { feeUsdg: 1_484_999n }, true],
    ['where it paid nothing', { feeUsdg: 0n }, true],
    ['where it took something', { feeUsdg: -1n }, true],
    ['where it reverted', { reverted: true, feeUsdg: 0n, leastUsdg: null }, true],
    ['where its gas cost more than it paid', { costUsdg: 1_500_001n }, true],
    ['not where nobody wrote down what it had to pay', { leastUsdg: null }, false],
  ])('%s', (_name, change, expected) => {
    expect(isLoss(run(change))).toBe(expected);
  });

  test.each([
    [1_500_000n, 1_600_000n, 1_485_000n],
    [1_500_000n, 1_490_000n, 1_475_100n],
    [0n, 1_490_000n, 0n],
  ])('promised %i and measured %i, it has to move %i', (promised, gain, least) => {
    expect(leastMoved(promised, gain, 100n)).toBe(least);
  });
});

describe('the work of a contract', () => {
  const lost = (atMs: number) => run({ feeUsdg: 0n, atMs });

  test('goes on after two losses, with what is left to lose', () => {
    expect(judgeBreaker([lost(T), lost(T - HOUR)], T, rules)).toEqual({
      tag: 'runs',
      leftUsdg: 4_800_000n,
    });
  });

  test('stops at the third within the window, until the first of them is older', () => {
    const runs = [lost(T), run({ atMs: T - 3 * HOUR }), lost(T - HOUR), lost(T - 2 * HOUR)];
    expect(judgeBreaker(runs, T, rules)).toEqual({
      tag: 'stopped',
      losses: 3,
      netUsdg: 1_100_000n,
      untilMs: T + 22 * HOUR,
    });
    expect(judgeBreaker(runs, T + 22 * HOUR - 1, rules).tag).toBe('stopped');
    expect(judgeBreaker(runs, T + 22 * HOUR, rules).tag).toBe('runs');
  });

  test('stops at the first loss that is as large as all that may be lost', () => {
    const runs = [run({ feeUsdg: 0n, costUsdg: 5_000_000n })];
    expect(judgeBreaker(runs, T, rules)).toMatchObject({ tag: 'stopped', losses: 1 });
    expect(judgeBreaker([run({ feeUsdg: 0n, costUsdg: 4_999_999n })], T, rules)).toEqual({
      tag: 'runs',
      leftUsdg: 1n,
    });
  });

  test('buys no larger loss with what it earned before', () => {
    expect(judgeBreaker([run({ feeUsdg: 10n ** 9n })], T, rules)).toEqual({
      tag: 'runs',
      leftUsdg: rules.mostLossUsdg,
    });
  });
});

const runs = fc.array(
  fc.record({
    reverted: fc.boolean(),
    feeUsdg: fc.bigInt(-1_000_000n, 3_000_000n),
    costUsdg: fc.bigInt(0n, 2_000_000n),
    leastUsdg: fc.option(fc.bigInt(0n, 2_000_000n)),
    atMs: fc.integer({ min: T - 30 * HOUR, max: T }),
  }),
  { maxLength: 12 },
);

test('stopped work goes on at the time told and not before, whatever came', () => {
  fc.assert(
    fc.property(runs, (list) => {
      const verdict = judgeBreaker(list, T, rules);
      if (verdict.tag !== 'stopped') return;
      expect(verdict.untilMs).toBeGreaterThan(T);
      expect(judgeBreaker(list, verdict.untilMs - 1, rules).tag).toBe('stopped');
      expect(judgeBreaker(list, verdict.untilMs, rules).tag).toBe('runs');
    }),
  );
});

test('a contract that always loses costs at most what is set, and so many transactions, in any day', () => {
  const price = 3_000n * 10n ** 18n;
  const step = fc.record({
    waitMs: fc.integer({ min: 0, max: 20 * HOUR }),
    gasLimit: fc.bigInt(21_000n, 30_000_000n),
    gasPriceWei: fc.bigInt(1n, 10n ** 11n),
    promised: fc.bigInt(0n, 10n ** 12n),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let now = T;
      const ran: ForeignRun[] = [];
      for (const { waitMs, gasLimit, gasPriceWei, promised } of steps) {
        now += waitMs;
        const verdict = judgeBreaker(ran, now, rules);
        if (verdict.tag === 'stopped') continue;
        const asked = { gasLimit, maxFeePerGas: promised };
        const cap = capByLoss(asked, verdict.leftUsdg, { gasPriceWei, ethPrice: price });
        if (cap.tag === 'over') continue;
        // The worst: all of the gas, at the cap, for nothing.
        const costUsdg = gasCostUsdg(gasLimit, cap.maxFeePerGas, price);
        ran.push(run({ feeUsdg: 0n, costUsdg, atMs: now }));
        const day = ran.filter(({ atMs }) => atMs > now - rules.windowMs);
        expect(day.length).toBeLessThanOrEqual(rules.mostLosses);
        expect(day.reduce((sum, one) => sum + one.costUsdg, 0n)).toBeLessThanOrEqual(
          rules.mostLossUsdg,
        );
      }
    }),
  );
});
