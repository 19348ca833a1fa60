/**
 * What others depend on and nobody may be paid for: a snapshot that is missed voids a week, a payout that nobody sends
 * is money that its owner waits for. Such work runs at a loss, within a budget a week. Pure; USDG in base units.
 */
import { bpsUp } from '../../contracts-abi/rounding.ts';
import { type GasMarket, gasCostUsdg, maxGasPrice, type ProfitRules } from './profit.ts';

/** Over how long the budget lasts. */
export const DUTY_PERIOD_MS = 7 * 86_400_000;

export type DutyVerdict =
  /** `lossUsdg`: at most, at the gas price with headroom; the budget is charged with it until the receipt tells. */
  | { tag: 'duty'; lossUsdg: bigint; costUsdg: bigint; maxFeePerGas: bigint }
  | { tag: 'over_budget'; lossUsdg: bigint; leftUsdg: bigint }
  | { tag: 'unknown_price' };

/**
 * Whether work that does not pay for itself is done all the same.
 * @param gainUsdg what the simulation measured
 * @param leftUsdg what is left of the budget
 */
export function judgeDuty(
  gainUsdg: bigint,
  gas: bigint,
  leftUsdg: bigint,
  market: GasMarket,
  rules: Pick<ProfitRules, 'gasPriceHeadroomBps'>,
): DutyVerdict {
  const { ethPrice } = market;
  if (ethPrice === null || ethPrice <= 0n) return { tag: 'unknown_price' };
  const gasPrice = market.gasPriceWei + bpsUp(market.gasPriceWei, rules.gasPriceHeadroomBps);
  const costUsdg = gasCostUsdg(gas, gasPrice, ethPrice);
  const lossUsdg = costUsdg > gainUsdg ? costUsdg - gainUsdg : 0n;
  if (lossUsdg > leftUsdg) return { tag: 'over_budget', lossUsdg, leftUsdg };
  // What may be spent at the most: the gain and the whole of the budget left, no margin and no profit.
  const noProfit = { ...rules, minProfitUsdg: 0n, marginBps: 0n };
  const maxFeePerGas = maxGasPrice(gainUsdg + leftUsdg, gas, ethPrice, noProfit);
  return { tag: 'duty', lossUsdg, costUsdg, maxFeePerGas };
}
