/**
 * What a range is worth, against closed forms: the payout of one weekend from its definition in exact fractions, the
 * expectation under a normal distribution by its error function.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { moveOf, oddsOf, payoutPerDollar, type Weekend } from './weekend-odds.ts';

const UNIT = 10n ** 18n;
const weekend = (move: number, week = 1): Weekend => ({
  week,
  closeNav: 100n * UNIT,
  settleNav: 100n * UNIT + (BigInt(Math.round(move * 1e9)) * UNIT) / 10n ** 7n,
});

/** P(Z > z) of the standard normal distribution: the Taylor series near zero, the continued fraction beyond. */
function above(z: number): number {
  if (z < 0) return 1 - above(-z);
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  if (z < 3) {
    let [term, sum] = [z, z];
    for (let k = 1; k < 200; k += 1) {
      term *= (z * z) / (2 * k + 1);
      sum += term;
    }
    return 0.5 - density * sum;
  }
  let fraction = 0;
  for (let k = 120; k > 0; k -= 1) fraction = k / (z + fraction);
  return density / (z + fraction);
}

/** E[clamp((-move - from) / (to - from), 0, 1)] for a move of deviation s about zero. */
function expected(s: number, from: number, to: number): number {
  // The mean of what lies above a, in standard deviations.
  const call = (a: number) => Math.exp((-a * a) / 2) / Math.sqrt(2 * Math.PI) - a * above(a);
  return (s * (call(from / s) - call(to / s))) / (to - from);
}

const range = fc
  .record({ from: fc.integer({ min: 2, max: 24 }), width: fc.integer({ min: 2, max: 20 }) })
  .map(({ from, width }) => ({ fromBps: from * 50, toBps: (from + width) * 50 }));

describe('estimatePer1k', () => {
  test('is the expectation under a normal distribution as wide as the weekends', () => {
    const moves = fc.array(fc.integer({ min: -150_000, max: 150_000 }), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(moves, range, (millionths, { fromBps, toBps }) => {
        const weekends = millionths.map((each, index) => weekend(each / 1e6, index));
        const s = Math.sqrt(
          millionths.reduce((sum, each) => sum + (each / 1e6) ** 2, 0) / millionths.length,
        );
        const { estimatePer1k } = oddsOf(weekends, { fromBps, toBps });
        const exact = s === 0 ? 0 : 1_000 * expected(s, fromBps / 10_000, toBps / 10_000);
        expect(Math.abs(estimatePer1k - exact)).toBeLessThan(1e-6);
      }),
      { numRuns: 2_000 },
    );
  });

  test('of a known table: a third of what lies beyond one deviation', () => {
    // s = 3%, from 3% to 6%: call(1) - call(2) = 0.0833155 - 0.0084907.
    const { estimatePer1k } = oddsOf([weekend(0.03), weekend(-0.03)], {
      fromBps: 300,
      toBps: 600,
    });
    expect(estimatePer1k).toBeCloseTo(74.8248, 3);
  });
});

describe('fairPer1k', () => {
  test('is the mean of what each weekend would have paid', () => {
    const weekends = fc.array(
      fc.record({
        closeNav: fc.bigInt(1n, 10n ** 24n),
        fall: fc.bigInt(0n, 10_000n),
      }),
      { minLength: 1, maxLength: 30 },
    );
    fc.assert(
      fc.property(weekends, range, (rows, { fromBps, toBps }) => {
        const history = rows.map(({ closeNav, fall }, week) => ({
          week,
          closeNav,
          settleNav: closeNav - (closeNav * fall) / 20_000n,
        }));
        const paid = history.map(({ closeNav, settleNav }) => {
          const drop = Number(closeNav - settleNav) / Number(closeNav);
          return Math.min(Math.max((drop * 10_000 - fromBps) / (toBps - fromBps), 0), 1);
        });
        const odds = oddsOf(history, { fromBps, toBps });
        const sum = paid.reduce((total, each) => total + each, 0);
        expect(odds.weekends).toBe(rows.length);
        expect(Math.abs(odds.fairPer1k - (1_000 * sum) / rows.length)).toBeLessThan(1e-6);
      }),
    );
  });

  test('of no weekend is nothing, and so is the estimate', () => {
    expect(oddsOf([], { fromBps: 300, toBps: 1_000 })).toEqual({
      weekends: 0,
      paidWeekends: 0,
      fullWeekends: 0,
      fairPer1k: 0,
      estimatePer1k: 0,
    });
  });

  test('counts the ends of a range as the market does', () => {
    const ends = { fromBps: 300, toBps: 1_000 };
    const pays = (move: number) => payoutPerDollar(weekend(move), ends);
    expect([-0.03, -0.0301, -0.065, -0.0999, -0.1, -0.5, 0.1].map(pays)).toEqual([
      0,
      expect.closeTo(0.001429, 6),
      0.5,
      expect.closeTo(0.998571, 6),
      1,
      1,
      0,
    ]);
    expect(moveOf(weekend(-0.065))).toBe(-0.065);
    expect(moveOf({ week: 1, closeNav: 0n, settleNav: UNIT })).toBe(0);
  });
});
