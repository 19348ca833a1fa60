/**
 * What a fill of an order pays, to the base unit as FillPricing.sol computes it (interface.md section 8: filler fee
 * max($0.25, 0.15%), at most 1%; mint fee 0.20%). All amounts are USDG base units (1e6).
 */
import {
  BPS,
  EXECUTOR_FEE_BPS,
  MAX_EXECUTOR_FEE_BPS,
  MIN_EXECUTOR_FEE,
  MINT_FEE_BPS,
} from './constants.ts';
import { bpsDown, bpsUp, mulDivDown } from './rounding.ts';

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** min(max($0.25, 0.15% of gross), 1% of gross), rounded down. */
export function executorFee(gross: bigint): bigint {
  return least(
    most(MIN_EXECUTOR_FEE, bpsDown(gross, EXECUTOR_FEE_BPS)),
    bpsDown(gross, MAX_EXECUTOR_FEE_BPS),
  );
}

/** The zapper's fee on a buy, on top of gross: 0.20%, rounded up. */
export function mintFee(gross: bigint): bigint {
  return bpsUp(gross, MINT_FEE_BPS);
}

/** The largest gross whose mint fee fits beside it into `funds` (BasketZapper._grossWithin). */
export function buyGrossWithin(funds: bigint): bigint {
  return mulDivDown(funds, BPS, BPS + MINT_FEE_BPS);
}

/** The largest gross with gross + mint fee + executor fee <= total: what a limit buy of `total` swaps. */
export function limitGrossWithin(total: bigint): bigint {
  const feeless = BPS + MINT_FEE_BPS;
  const atCap = mulDivDown(total, BPS, feeless + MAX_EXECUTOR_FEE_BPS);
  const atShare = mulDivDown(total, BPS, feeless + EXECUTOR_FEE_BPS);
  const atMinimum =
    total > MIN_EXECUTOR_FEE ? mulDivDown(total - MIN_EXECUTOR_FEE, BPS, feeless) : 0n;
  let gross = most(least(atMinimum, atShare), atCap) + 2n;
  while (gross + mintFee(gross) + executorFee(gross) > total) gross -= 1n;
  return gross;
}
