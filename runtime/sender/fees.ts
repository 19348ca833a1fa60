/**
 * Fee policy, pure: what a first attempt pays, how a replacement raises it, and when only a cancel is left.
 *
 * Nothing ever pays more than the configured cap. An execution stops one bump below it, so that the cancel, which must
 * itself outbid the last attempt, still fits under the cap.
 */
export type Fees = { maxFee: bigint; tip: bigint };

export type FeeLimits = {
  /** Wei per gas that nothing may exceed. */
  cap: bigint;
  /** The caller's own limit for executions, or null. */
  intentCap: bigint | null;
  bumpPercent: number;
};

export type FeeDecision = { tag: 'fees'; fees: Fees } | { tag: 'over_cap'; needed: bigint };

/** The most that an execution may offer. */
export function executionCap(limits: FeeLimits): bigint {
  const reserve = (limits.cap * 100n) / BigInt(100 + limits.bumpPercent);
  return limits.intentCap !== null && limits.intentCap < reserve ? limits.intentCap : reserve;
}

/**
 * Fees of a first attempt: twice the base fee, so that it survives several full blocks, plus the tip.
 * `over_cap` when not even the base fee of now fits.
 */
export function firstFees(baseFee: bigint, tip: bigint, limits: FeeLimits): FeeDecision {
  return within(2n * baseFee + tip, baseFee, tip, executionCap(limits));
}

/**
 * Fees that replace `previous` under the same nonce: both raised by at least the bump, and enough for the base fee of
 * now. `over_cap` when the least raise that a node accepts does not fit under the limit of the role.
 */
export function raisedFees(
  previous: Fees,
  baseFee: bigint,
  tip: bigint,
  role: 'execute' | 'cancel',
  limits: FeeLimits,
): FeeDecision {
  const cap = role === 'cancel' ? limits.cap : executionCap(limits);
  const leastMax = raise(previous.maxFee, limits.bumpPercent);
  const leastTip = raise(previous.tip, limits.bumpPercent);
  const wanted = max(2n * baseFee + max(tip, leastTip), leastMax);
  return within(wanted, max(leastMax, baseFee), max(tip, leastTip), cap);
}

/** At least one wei more, also from zero: equal fees never replace. */
function raise(value: bigint, percent: number): bigint {
  const scaled = (value * BigInt(100 + percent) + 99n) / 100n;
  return scaled > value ? scaled : value + 1n;
}

function within(wanted: bigint, least: bigint, tip: bigint, cap: bigint): FeeDecision {
  const maxFee = wanted > cap ? cap : wanted;
  if (maxFee < least || maxFee < tip) return { tag: 'over_cap', needed: max(least, tip) };
  return { tag: 'fees', fees: { maxFee, tip } };
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** Gas limit from an estimate and the headroom of the configuration. */
export function withHeadroom(estimate: bigint, percent: number): bigint {
  return (estimate * BigInt(100 + percent) + 99n) / 100n;
}

/** Most attempts at one nonce; past it only the bytes that exist are sent again. */
export const MOST_ATTEMPTS = 24;

export type StuckView = {
  /** Milliseconds since the newest attempt of the wallet's next nonce was made, or since it became the next. */
  waitedMs: number;
  stuckAfterMs: number;
  expired: boolean;
  /** The node keeps rejecting these bytes by an answer of its own. */
  rejected: boolean;
  newestRole: 'execute' | 'cancel';
  attempts: number;
};

export type StuckStep = 'wait' | 'replace' | 'cancel' | 'raise_cancel';

/** What to do about the one transaction that all later ones of its wallet wait for. */
export function stuckStep(view: StuckView): StuckStep {
  if (view.attempts >= MOST_ATTEMPTS) return 'wait';
  if (view.newestRole === 'execute' && view.rejected) return 'cancel';
  if (view.waitedMs < view.stuckAfterMs) return 'wait';
  if (view.newestRole === 'cancel') return 'raise_cancel';
  return view.expired ? 'cancel' : 'replace';
}
