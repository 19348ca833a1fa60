/**
 * When the treasury sends ETH to a wallet. Pure; amounts in wei.
 *
 * What must hold: no wallet is sent more than lifts it to the target, a day's sum never passes the limit, and the
 * treasury keeps what its own next transaction needs.
 */
export type FundRules = {
  /** A wallet with less than this is sent some. */
  lowWei: bigint;
  /** What it has then. */
  targetWei: bigint;
  /** What may be sent within any 24 hours. */
  dailyWei: bigint;
};

export type FundVerdict =
  | { tag: 'send'; amountWei: bigint }
  | { tag: 'enough' }
  | { tag: 'over_daily' }
  | { tag: 'treasury_empty' };

/** Less than this share of what is missing is not worth a transaction. */
const LEAST_SHARE = 4n;

/**
 * @param sentWei what was sent, or may still be sent, within the last 24 hours
 * @param keepWei what the treasury's own gas may cost
 */
export function judgeFund(
  state: { balanceWei: bigint; treasuryWei: bigint; sentWei: bigint; keepWei: bigint },
  rules: FundRules,
): FundVerdict {
  const { balanceWei, treasuryWei, sentWei, keepWei } = state;
  if (balanceWei >= rules.lowWei || balanceWei >= rules.targetWei) return { tag: 'enough' };
  const missing = rules.targetWei - balanceWei;
  const leastWei = (missing + LEAST_SHARE - 1n) / LEAST_SHARE;
  const room = rules.dailyWei - sentWei;
  if (room < leastWei) return { tag: 'over_daily' };
  const there = treasuryWei - keepWei;
  if (there < leastWei) return { tag: 'treasury_empty' };
  return { tag: 'send', amountWei: [missing, room, there].reduce((a, b) => (b < a ? b : a)) };
}
