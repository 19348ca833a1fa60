/**
 * What others depend on and nobody may be paid for: a snapshot that is missed voids a week, a payout that nobody sends
 * is money that its owner waits for. Such work runs at a loss, within a budget a week. Pure; USDG in base units.
 */
import { bpsUp } from '../../contracts-abi/rounding.ts';
import { type FillRules, withHeadroom } from './fill.ts';
import { gasCostUsdg } from '../../runtime/money/gas-cost.ts';
import { type GasMarket, maxGasPrice } from './profit.ts';

/** Over how long the budget lasts: any seven days, not those of a calendar. */
export const DUTY_PERIOD_MS = 7 * 86_400_000;

/** How far the gas price may rise above what is expected before a duty under way is given up. */
const MOST_PRICE_RISE = 2n;

type DutyBounds = { gasLimit: bigint; maxFeePerGas: bigint; costUsdg: bigint };

export type DutyVerdict =
  /**
   * `atRiskUsdg`: all of its gas at its highest price, and nothing earned; the budget is charged with it until the
   * receipt tells. `costUsdg`: what is expected.
   */
  | ({ tag: 'duty'; atRiskUsdg: bigint } & DutyBounds)
  /** It earns its gas, though no profit: nothing of the budget. */
  | ({ tag: 'breaks_even' } & DutyBounds)
  | { tag: 'over_budget'; lossUsdg: bigint; atRiskUsdg: bigint }
  | { tag: 'unknown_price' };

/**
 * Whether work that does not pay for itself is done all the same.
 * @param gainUsdg what the simulation measured
 * @param gas the estimate
 * @param leftUsdg what is left of the budget
 */
export function judgeDuty(
  gainUsdg: bigint,
  gas: bigint,
  leftUsdg: bigint,
  market: GasMarket,
  rules: Pick<FillRules, 'gasPriceHeadroomBps' | 'gasLimitHeadroomBps'>,
): DutyVerdict {
  const { ethPrice } = market;
  if (ethPrice === null || ethPrice <= 0n) return { tag: 'unknown_price' };
  const gasPrice = market.gasPriceWei + bpsUp(market.gasPriceWei, rules.gasPriceHeadroomBps);
  const gasLimit = withHeadroom(gas, rules);
  const costUsdg = gasCostUsdg(gas, gasPrice, ethPrice);
  const needed = gasCostUsdg(gasLimit, gasPrice, ethPrice);
  /** The gas price up to which all of its gas costs no more than this: no margin and no profit. */
  const priceFor = (spendable: bigint): bigint =>
    maxGasPrice(spendable, gasLimit, ethPrice, { minProfitUsdg: 0n, marginBps: 0n });
  if (needed <= gainUsdg) {
    return { tag: 'breaks_even', gasLimit, maxFeePerGas: priceFor(gainUsdg), costUsdg };
  }
  if (needed > leftUsdg) {
    return { tag: 'over_budget', lossUsdg: needed - gainUsdg, atRiskUsdg: needed };
  }
  const most = needed * MOST_PRICE_RISE;
  const maxFeePerGas = priceFor(most < leftUsdg ? most : leftUsdg);
  const atRiskUsdg = gasCostUsdg(gasLimit, maxFeePerGas, ethPrice);
  return { tag: 'duty', gasLimit, maxFeePerGas, costUsdg, atRiskUsdg };
}
