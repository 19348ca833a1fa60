/**
 * What a keeper does with its own money: how many transactions its ETH is good for, when earned USDG goes to the cold
 * address, and when some of it is swapped for ETH. Pure. USDG in base units, ETH in wei, prices in dollars x 1e18.
 */
import { bpsUp, mulDivUp } from '../../contracts-abi/rounding.ts';
import { type GasMarket, WEI_PRICE_PER_USDG } from './profit.ts';

/** Gas of a transaction where nothing better is known: an ordinary fill over several pools. */
export const USUAL_GAS = 600_000n;
const DAY_MS = 86_400_000;

/** How many transactions of `gas` units a balance pays for at the market's price; zero where nothing can be sent. */
export function transactionsLeft(
  balanceWei: bigint,
  gas: bigint,
  market: Pick<GasMarket, 'gasPriceWei'>,
): bigint {
  const price = gas * market.gasPriceWei;
  return price <= 0n ? 0n : balanceWei / price;
}

export type SweepRules = {
  /** Stays in the wallet. */
  floatUsdg: bigint;
  /** Less than this is not worth a transaction. */
  leastUsdg: bigint;
  /** From one sweep of a wallet to the next, at least. */
  periodMs: number;
};

export type SweepVerdict =
  | { tag: 'sweep'; amountUsdg: bigint }
  | { tag: 'nothing' }
  | { tag: 'too_soon'; leftMs: number };

/**
 * What of a wallet's USDG goes to the cold address now.
 * @param lastMs when the last sweep that was executed was decided; null when there was none
 */
export function judgeSweep(
  balanceUsdg: bigint,
  lastMs: number | null,
  nowMs: number,
  rules: SweepRules,
): SweepVerdict {
  const amountUsdg = balanceUsdg - rules.floatUsdg;
  if (amountUsdg <= 0n || amountUsdg < rules.leastUsdg) return { tag: 'nothing' };
  // A clock that was set back does not make a period pass sooner, nor hold a sweep up for ever.
  const leftMs = lastMs === null ? 0 : Math.min(rules.periodMs, lastMs + rules.periodMs - nowMs);
  return leftMs > 0 ? { tag: 'too_soon', leftMs } : { tag: 'sweep', amountUsdg };
}

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

/** Start of the day that counts towards the daily limit: any 24 hours, not a calendar day. */
export function dayBefore(nowMs: number): number {
  return nowMs - DAY_MS;
}

/** A gas price that has room to rise until inclusion. */
export function withRoom(market: GasMarket, headroomBps: bigint): GasMarket {
  return {
    ...market,
    gasPriceWei: market.gasPriceWei + bpsUp(market.gasPriceWei, headroomBps),
  };
}
