/**
 * When a key costs too much: pure policy. Amounts: USDG base units; times: unix milliseconds.
 *
 * A key loses the relayer money when what it signs passes the simulation and reverts in a block: the gas is paid, the
 * fee is not. What its other actions paid above their gas is set against that. A key that lost more than the limit
 * within the window is kept out for a while, twice as long each time in a row; it comes back by itself.
 */
export type QuarantinePolicy = {
  /** More than this lost within the window begins a quarantine. */
  limit: bigint;
  windowMs: number;
  /** Length of the first one; each further one in a row lasts twice as long as the one before. */
  firstMs: number;
};

/** What one settled action cost and brought. */
export type Settled = { outcome: 'mined' | 'reverted'; gas: bigint; fee: bigint };

export type Quarantine = {
  /** How many in a row, from 1. */
  strikes: number;
  startedAt: number;
  until: number;
  lost: bigint;
};

const DAY_MS = 86_400_000;
/** However often it happens, a day is the longest; and so long without one makes the next the first again. */
const LONGEST_MS = DAY_MS;
const FORGOTTEN_MS = DAY_MS;

/** Gas of reverts, less what the rest brought above its gas; never below zero. */
export function lossOf(settled: readonly Settled[]): bigint {
  let lost = 0n;
  for (const { outcome, gas, fee } of settled) {
    if (outcome === 'reverted') lost += gas;
    else if (fee > gas) lost -= fee - gas;
  }
  return lost > 0n ? lost : 0n;
}

/** From when on a key's actions count: the window, but nothing that a quarantine has answered for already. */
export function countedSince(
  standing: Quarantine | null,
  now: number,
  policy: QuarantinePolicy,
): number {
  return Math.max(now - policy.windowMs, standing?.until ?? 0);
}

/**
 * The quarantine that begins now, or null.
 * @param settled the key's actions since `countedSince`.
 */
export function judgeLosses(
  settled: readonly Settled[],
  standing: Quarantine | null,
  now: number,
  policy: QuarantinePolicy,
): Quarantine | null {
  if (isQuarantined(standing, now)) return null;
  const lost = lossOf(settled);
  if (lost <= policy.limit) return null;
  const inARow = standing !== null && now - standing.until < FORGOTTEN_MS;
  const strikes = inARow ? standing.strikes + 1 : 1;
  // The exponent is capped first: a strike of any number must not become an infinite time.
  const length = Math.min(LONGEST_MS, policy.firstMs * 2 ** Math.min(strikes - 1, 30));
  return { strikes, startedAt: now, until: now + length, lost };
}

export function isQuarantined(standing: Quarantine | null, now: number): boolean {
  return standing !== null && now < standing.until;
}
