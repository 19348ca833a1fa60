/** What of the settings is policy: the numbers that decide what is sent, in chain units. */
import { usdgOf } from '../runtime/config.ts';
import type { KeeperConfig } from './config.ts';
import type { KeeperContext } from './context.ts';
import { BREAKER_WINDOW_MS } from './policy/breaker.ts';

export function policyOf(
  config: KeeperConfig,
): Pick<KeeperContext, 'rules' | 'arming' | 'breaker' | 'batchMax'> {
  return {
    rules: {
      minProfitUsdg: usdgOf(config.KEEPER_MIN_PROFIT_USDG),
      marginBps: BigInt(config.KEEPER_MARGIN_PERCENT) * 100n,
      gasPriceHeadroomBps: BigInt(config.KEEPER_GAS_PRICE_HEADROOM_PERCENT) * 100n,
      feeToleranceBps: BigInt(config.KEEPER_FEE_TOLERANCE_BPS),
      gasLimitHeadroomBps: BigInt(config.SENDER_GAS_HEADROOM_PERCENT) * 100n,
    },
    arming: config.KEEPER_ARM,
    breaker: {
      windowMs: BREAKER_WINDOW_MS,
      mostLosses: config.KEEPER_FOREIGN_LOSSES,
      mostLossUsdg: usdgOf(config.KEEPER_FOREIGN_LOSS_USDG),
    },
    batchMax: config.KEEPER_BATCH_MAX,
  };
}
