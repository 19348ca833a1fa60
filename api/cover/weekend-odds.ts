/** What cover of a range would have paid over the weekends of a basket (wire.md, Cover reads: `history`). Pure. */
import { BPS } from '../../contracts-abi/constants.ts';
import type { Range } from './terms.ts';

/** NAVs of one share at a week's close and at its settlement, dollars x 1e18. */
export type Weekend = { week: number; closeNav: bigint; settleNav: bigint };

export type Odds = {
  weekends: number;
  /** Weekends that would have paid something, and everything. */
  paidWeekends: number;
  fullWeekends: number;
  /** Average payout a weekend per $1,000 of cover, in dollars: what the cover would have been worth. */
  fairPer1k: number;
  /**
   * The payout to be expected per $1,000 if weekends move by a normal distribution around zero as wide as those
   * recorded: a range that no weekend has reached yet is worth something all the same.
   */
  estimatePer1k: number;
};

const SCALE = 1_000_000_000_000n;

/** CoverMath.payout per dollar of cover: clamp((drop - from) / (to - from), 0, 1). */
export function payoutPerDollar({ closeNav, settleNav }: Weekend, range: Range): number {
  if (closeNav === 0n) return 0;
  const drop = closeNav > settleNav ? (closeNav - settleNav) * BPS : 0n;
  const above = drop - closeNav * BigInt(range.fromBps);
  const width = closeNav * BigInt(range.toBps - range.fromBps);
  if (above <= 0n) return 0;
  return above >= width ? 1 : Number((above * SCALE) / width) / Number(SCALE);
}

export function oddsOf(weekends: readonly Weekend[], range: Range): Odds {
  const payouts = weekends.map((weekend) => payoutPerDollar(weekend, range));
  const sum = payouts.reduce((total, each) => total + each, 0);
  return {
    weekends: weekends.length,
    paidWeekends: payouts.filter((each) => each > 0).length,
    fullWeekends: payouts.filter((each) => each === 1).length,
    fairPer1k: weekends.length === 0 ? 0 : (1_000 * sum) / weekends.length,
    estimatePer1k: 1_000 * expectedPayout(deviationOf(weekends), range),
  };
}

/** settle / close - 1. */
export function moveOf({ closeNav, settleNav }: Weekend): number {
  if (closeNav === 0n) return 0;
  return Number(((settleNav - closeNav) * SCALE) / closeNav) / Number(SCALE);
}

/** Root mean square of the moves, about zero: weekends have no direction of their own. */
function deviationOf(weekends: readonly Weekend[]): number {
  if (weekends.length === 0) return 0;
  return Math.sqrt(
    weekends.reduce((sum, weekend) => sum + moveOf(weekend) ** 2, 0) / weekends.length,
  );
}

const STEPS = 400;
/** Standard deviations beyond which nothing counts. */
const TAIL = 9;

/** Per dollar: the integral of the payout over the normal density, by Simpson's rule piece by piece. */
function expectedPayout(deviation: number, { fromBps, toBps }: Range): number {
  if (deviation === 0) return 0;
  const from = fromBps / Number(BPS) / deviation;
  const to = toBps / Number(BPS) / deviation;
  const density = (z: number) => Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  const sloping = simpson((z) => ((z - from) / (to - from)) * density(z), from, Math.min(to, TAIL));
  return sloping + simpson(density, to, TAIL);
}

function simpson(value: (at: number) => number, low: number, high: number): number {
  if (high <= low) return 0;
  const step = (high - low) / STEPS;
  let sum = value(low) + value(high);
  for (let index = 1; index < STEPS; index += 1) {
    sum += (index % 2 === 0 ? 2 : 4) * value(low + index * step);
  }
  return (sum * step) / 3;
}
