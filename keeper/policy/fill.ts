/** Whether a fill that passed its simulation is sent, and within which bounds. Pure. */
import { minusBps } from '../../contracts-abi/rounding.ts';
import { type GasMarket, judgeProfit, type ProfitRules, type ProfitVerdict } from './profit.ts';

export type FillRules = ProfitRules & {
  /** How far the measured gain may lie below the promise, in bps: prices move between the two. */
  feeToleranceBps: bigint;
  /** Head-room of the gas limit over the estimate, in bps: what the execution needs may grow until inclusion. */
  gasLimitHeadroomBps: bigint;
};

export type FillVerdict =
  | { tag: 'send'; gasLimit: bigint; maxFeePerGas: bigint; costUsdg: bigint; profitUsdg: bigint }
  /** The balance gains less than promised, or less than the fill says it pays. */
  | { tag: 'short_fee'; gainUsdg: bigint; leastUsdg: bigint }
  | Exclude<ProfitVerdict, { tag: 'pays' }>;

/**
 * @param passed what the simulation measured: USDG gained by us, the fee that `fill` returned, the gas estimate
 * @param promisedUsdg what the job source promised, USDG base units
 */
export function judgeFill(
  passed: { gainUsdg: bigint; feeUsdg: bigint; gas: bigint },
  promisedUsdg: bigint,
  market: GasMarket,
  rules: FillRules,
): FillVerdict {
  const { gainUsdg, feeUsdg, gas } = passed;
  const tolerated = minusBps(promisedUsdg, rules.feeToleranceBps);
  const leastUsdg = tolerated > feeUsdg ? tolerated : feeUsdg;
  if (gainUsdg < leastUsdg) return { tag: 'short_fee', gainUsdg, leastUsdg };
  const profit = judgeProfit(gainUsdg, gas, market, rules);
  if (profit.tag !== 'pays') return profit;
  const { costUsdg, profitUsdg, maxFeePerGas } = profit;
  return { tag: 'send', gasLimit: withHeadroom(gas, rules), maxFeePerGas, costUsdg, profitUsdg };
}

/** The gas limit for an estimate. */
export function withHeadroom(gas: bigint, rules: Pick<FillRules, 'gasLimitHeadroomBps'>): bigint {
  return gas + (gas * rules.gasLimitHeadroomBps + 9_999n) / 10_000n;
}
