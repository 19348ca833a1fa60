/**
 * Whether a transaction pays. Pure. USDG in base units (1e6), gas prices in wei, the ETH price in dollars x 1e18
 * (INavOracle). Costs round up, what a fee allows rounds down.
 */
import { bpsUp, mulDivDown } from '../../contracts-abi/rounding.ts';
import { gasCostUsdg, WEI_PRICE_PER_USDG } from '../../runtime/money/gas-cost.ts';

export type ProfitRules = {
  /** Least that must be left of the fee after gas, USDG base units. */
  minProfitUsdg: bigint;
  /** What must be left, as a share of the gas cost, in bps. */
  marginBps: bigint;
  /** How much the gas price may rise until inclusion, in bps. */
  gasPriceHeadroomBps: bigint;
};

/** What the chain charges now; `ethPrice` null when it is not known. */
export type GasMarket = { gasPriceWei: bigint; ethPrice: bigint | null };

export type ProfitVerdict =
  | {
      tag: 'pays';
      profitUsdg: bigint;
      costUsdg: bigint;
      /** The gas price at which the fee would still pay: the sender may raise to it and no further. */
      maxFeePerGas: bigint;
    }
  | { tag: 'does_not_pay'; costUsdg: bigint; neededUsdg: bigint }
  | { tag: 'unknown_price' };

/** Least fee that pays for a cost. */
export function neededFee(costUsdg: bigint, rules: ProfitRules): bigint {
  const margin = bpsUp(costUsdg, rules.marginBps);
  return costUsdg + (margin > rules.minProfitUsdg ? margin : rules.minProfitUsdg);
}

/**
 * Judges a fee of `feeUsdg` against `gas` units at the market's price with headroom.
 * An unknown ETH price is no price: nothing is sent on a guess.
 */
export function judgeProfit(
  feeUsdg: bigint,
  gas: bigint,
  market: GasMarket,
  rules: ProfitRules,
): ProfitVerdict {
  const { ethPrice } = market;
  if (ethPrice === null || ethPrice <= 0n) return { tag: 'unknown_price' };
  const gasPrice = market.gasPriceWei + bpsUp(market.gasPriceWei, rules.gasPriceHeadroomBps);
  const costUsdg = gasCostUsdg(gas, gasPrice, ethPrice);
  const neededUsdg = neededFee(costUsdg, rules);
  if (feeUsdg < neededUsdg) return { tag: 'does_not_pay', costUsdg, neededUsdg };
  return {
    tag: 'pays',
    profitUsdg: feeUsdg - costUsdg,
    costUsdg,
    maxFeePerGas: maxGasPrice(feeUsdg, gas, ethPrice, rules),
  };
}

/** The highest gas price at which `feeUsdg` still pays for `gas` units; zero when none does. */
export function maxGasPrice(
  feeUsdg: bigint,
  gas: bigint,
  ethPrice: bigint,
  rules: Pick<ProfitRules, 'minProfitUsdg' | 'marginBps'>,
): bigint {
  if (gas <= 0n || ethPrice <= 0n) return 0n;
  const byMargin = mulDivDown(feeUsdg, 10_000n, 10_000n + rules.marginBps);
  const byProfit = feeUsdg > rules.minProfitUsdg ? feeUsdg - rules.minProfitUsdg : 0n;
  const spendable = byMargin < byProfit ? byMargin : byProfit;
  return mulDivDown(spendable, WEI_PRICE_PER_USDG, gas * ethPrice);
}
