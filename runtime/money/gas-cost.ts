/** What gas costs in dollars. USDG in base units (1e6), gas prices in wei, the ETH price in dollars x 1e18 (INavOracle). */
import { mulDivUp } from '../../contracts-abi/rounding.ts';

/** wei x (dollars x 1e18) / this = USDG base units. */
export const WEI_PRICE_PER_USDG = 10n ** 30n;

/** Cost of `gas` units in USDG, rounded up. */
export function gasCostUsdg(gas: bigint, gasPriceWei: bigint, ethPrice: bigint): bigint {
  return mulDivUp(gas * gasPriceWei, ethPrice, WEI_PRICE_PER_USDG);
}
