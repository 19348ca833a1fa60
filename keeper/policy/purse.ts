/**
 * When a keeper swaps some of its earned USDG for ETH. Pure. USDG in base units, ETH in wei, prices in dollars x 1e18.
 */
import { bpsUp, mulDivUp } from '../../contracts-abi/rounding.ts';
import { WEI_PRICE_PER_USDG } from '../../runtime/money/gas-cost.ts';
import type { GasMarket } from './profit.ts';

export type TopUpRules = {
  /** A wallet with fewer transactions left is topped up. */
  belowTransactions: bigint;
  /** What one top-up swaps, at most. */
  amountUsdg: bigint;
  /** What all top-ups of a day may swap; zero: none. */
  dailyUsdg: bigint;
  slippageBps: bigint;
};

/** A swap of less than this is not worth its three transactions. */
export const LEAST_TOP_UP_USDG = 1_000_000n;

export type TopUpVerdict =
  | { tag: 'swap'; amountUsdg: bigint; leastWei: bigint }
  | { tag: 'enough_eth' }
  | { tag: 'unknown_price' }
  | { tag: 'no_usdg' }
  | { tag: 'over_daily' };

/**
 * Whether a wallet is topped up, and with how much.
 * @param left transactions that its ETH is good for
 * @param usdg what the paying wallet holds
 * @param spentUsdg what top-ups of the last day have swapped or may still swap
 * @param price of the oracle, or null when it is not sure
 */
export function judgeTopUp(
  state: { left: bigint; usdg: bigint; spentUsdg: bigint; price: bigint | null },
  rules: TopUpRules,
): TopUpVerdict {
  if (state.left >= rules.belowTransactions) return { tag: 'enough_eth' };
  if (state.price === null || state.price <= 0n) return { tag: 'unknown_price' };
  const room = rules.dailyUsdg - state.spentUsdg;
  if (room < LEAST_TOP_UP_USDG) return { tag: 'over_daily' };
  const amountUsdg = [rules.amountUsdg, room, state.usdg].reduce((a, b) => (b < a ? b : a));
  if (amountUsdg < LEAST_TOP_UP_USDG) return { tag: 'no_usdg' };
  return {
    tag: 'swap',
    amountUsdg,
    leastWei: leastOut(amountUsdg, state.price, rules.slippageBps),
  };
}

/** The least ETH that a swap must bring, rounded against the pool: the price less the slippage, pool fee included. */
export function leastOut(amountUsdg: bigint, price: bigint, slippageBps: bigint): bigint {
  const fair = mulDivUp(amountUsdg, WEI_PRICE_PER_USDG, price);
  return fair - (fair * slippageBps) / 10_000n;
}

/**
 * The price that a swap for ETH is held to: the lower of spot and average asks for the more ETH. Null unless both are
 * known: what somebody pushed for a block must not become the price of our money.
 */
export function strictPrice(spot: bigint, average: bigint): bigint | null {
  if (spot <= 0n || average <= 0n) return null;
  return spot < average ? spot : average;
}

/** A gas price that has room to rise until inclusion. */
export function withRoom(market: GasMarket, headroomBps: bigint): GasMarket {
  return {
    ...market,
    gasPriceWei: market.gasPriceWei + bpsUp(market.gasPriceWei, headroomBps),
  };
}
