/**
 * What cover costs, to the base unit as CoverMath.sol and CoverModule.sol compute it. Cover in whole dollars, money in
 * USDG base units (1e6), prices in USDG base units per $1,000 of cover.
 */
import { BPS, COVER_FEE_BPS, MAX_SESSION_COVER_COST_BPS, USD } from './constants.ts';
import { bpsUp } from './rounding.ts';

const PRICE_UNIT_USD = 1_000n;

export function premiumOf(coverUsd: bigint, pricePer1k: bigint): bigint {
  return (coverUsd * pricePer1k) / PRICE_UNIT_USD;
}

/** 1% of a premium, rounded up. */
export function coverFeeOf(premium: bigint): bigint {
  return bpsUp(premium, COVER_FEE_BPS);
}

/** What a taker pays for one part of an offer: the fee is on top, and rounded up for each part. */
export function takeCostOf(coverUsd: bigint, pricePer1k: bigint): bigint {
  const premium = premiumOf(coverUsd, pricePer1k);
  return premium + coverFeeOf(premium);
}

/** Most that a session key may pay for cover: 3% of it. */
export function sessionCeiling(coverUsd: bigint): bigint {
  return (coverUsd * USD * MAX_SESSION_COVER_COST_BPS) / BPS;
}
