/** What the cover market allows, as the routes tell it (wire.md, Cover reads). */
import {
  BPS,
  COVER_FEE_BPS,
  COVER_PRICE_STEP,
  COVER_RANGE_STEP_BPS,
  COVER_WEEKS_AHEAD,
  MAX_COVER_TO_BPS,
  MAX_SESSION_COVER_COST_BPS,
  MAX_SESSION_COVER_PRICE,
  MIN_COVER_FROM_BPS,
  MIN_COVER_USD,
  MIN_COVER_WIDTH_BPS,
} from '../../contracts-abi/constants.ts';
import { sessionCeiling, takeCostOf } from '../../contracts-abi/cover-pricing.ts';
import { toNumber } from '../../contracts-abi/rounding.ts';

/** Drops between `fromBps` and `toBps`, in basis points. */
export type Range = { fromBps: number; toBps: number };

/** Ranges to offer a person before he has one of his own. */
export const PRESETS: readonly Range[] = [
  { fromBps: 200, toBps: 700 },
  { fromBps: 300, toBps: 1_000 },
  { fromBps: 500, toBps: 1_500 },
];

export const TERMS = {
  feeBps: Number(COVER_FEE_BPS),
  minCoverUsd: Number(MIN_COVER_USD),
  rangeStepBps: Number(COVER_RANGE_STEP_BPS),
  minFromBps: Number(MIN_COVER_FROM_BPS),
  minWidthBps: Number(MIN_COVER_WIDTH_BPS),
  maxToBps: Number(MAX_COVER_TO_BPS),
} as const;

/** Dearest price per $1,000 that a session key can take, fee included, in whole cents. */
export const MAX_SESSION_TAKE_PRICE = (() => {
  const fits = (price: bigint) => takeCostOf(1_000n, price) <= sessionCeiling(1_000n);
  let price = MAX_SESSION_COVER_PRICE;
  while (!fits(price)) price -= COVER_PRICE_STEP;
  return price;
})();

export const SESSION_TERMS = {
  maxTakePer1k: toNumber(MAX_SESSION_TAKE_PRICE, 6),
  maxRequestPer1k: toNumber(MAX_SESSION_COVER_PRICE, 6),
  weeksAhead: Number(COVER_WEEKS_AHEAD),
  maxPremiumOfCover: Number(MAX_SESSION_COVER_COST_BPS) / Number(BPS),
} as const;

/** Why no range that can be covered begins, or ends, there; null where one does. */
export function boundFault(path: keyof Range, bps: number): string | null {
  const widest = { fromBps: TERMS.minFromBps, toBps: TERMS.maxToBps };
  const fault = rangeFault({ ...widest, [path]: bps });
  if (fault === null || fault.path === path) return fault?.why ?? null;
  return `expected at most ${TERMS.maxToBps - TERMS.minWidthBps} bps`;
}

/** Why a range cannot be covered, or null. */
export function rangeFault({ fromBps, toBps }: Range): { path: keyof Range; why: string } | null {
  const { rangeStepBps, minFromBps, minWidthBps, maxToBps } = TERMS;
  for (const [path, value] of [
    ['fromBps', fromBps],
    ['toBps', toBps],
  ] as const) {
    if (value % rangeStepBps !== 0) return { path, why: `expected steps of ${rangeStepBps} bps` };
  }
  if (fromBps < minFromBps) return { path: 'fromBps', why: `expected at least ${minFromBps} bps` };
  if (toBps > maxToBps) return { path: 'toBps', why: `expected at most ${maxToBps} bps` };
  return toBps < fromBps + minWidthBps
    ? { path: 'toBps', why: `expected at least ${minWidthBps} bps above fromBps, ${fromBps}` }
    : null;
}
