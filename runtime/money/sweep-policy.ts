/**
 * What a process does with the money of its wallets: how many transactions their ETH is good for, and when earned USDG
 * goes to the cold address. Pure. USDG in base units, ETH in wei.
 */

/** Gas of a transaction where nothing better is known: an ordinary trade over several pools. */
export const USUAL_GAS = 600_000n;
const DAY_MS = 86_400_000;

/** How many transactions of `gas` units a balance pays for at the market's price; zero where nothing can be sent. */
export function transactionsLeft(
  balanceWei: bigint,
  gas: bigint,
  market: { gasPriceWei: bigint },
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

/** Start of the day that counts towards a daily limit: any 24 hours, not a calendar day. */
export function dayBefore(nowMs: number): number {
  return nowMs - DAY_MS;
}
