/**
 * How much work of one foreign contract may lose before it is left alone. A simulation can be told from a block, so a
 * contract may pay in the one and not in the other; what its transactions did on chain is all that speaks for it.
 * Pure; USDG in base units, times in unix milliseconds.
 */
import { minusBps } from '../../contracts-abi/rounding.ts';
import { gasCostUsdg } from '../../runtime/money/gas-cost.ts';
import { maxGasPrice, type GasMarket } from './profit.ts';

/** A transaction that is on chain. */
export type ForeignRun = {
  reverted: boolean;
  /** What it moved to us. */
  feeUsdg: bigint;
  /** Its gas, or the most it can have been where the ETH price was not known. */
  costUsdg: bigint;
  /** What it had to move at least: {@link leastMoved}; null where that was not written down. */
  leastUsdg: bigint | null;
  atMs: number;
};

export type BreakerRules = {
  windowMs: number;
  /** So many losing transactions within the window stop the contract's work. */
  mostLosses: number;
  /** What its work may lose within the window, fees less gas. */
  mostLossUsdg: bigint;
};

export const BREAKER_WINDOW_MS = 86_400_000;

export type BreakerVerdict =
  /** `leftUsdg`: what the next transaction may cost at the most, should it earn nothing. */
  | { tag: 'runs'; leftUsdg: bigint }
  /** Until enough of it is older than the window. */
  | { tag: 'stopped'; losses: number; netUsdg: bigint; untilMs: number };

/** What a mined transaction must have moved: what was promised or measured, whichever is less, within the tolerance. */
export function leastMoved(promisedUsdg: bigint, gainUsdg: bigint, toleranceBps: bigint): bigint {
  return minusBps(gainUsdg < promisedUsdg ? gainUsdg : promisedUsdg, toleranceBps);
}

/** Whether it left us poorer, or paid less than it had to. */
export function isLoss({ reverted, feeUsdg, costUsdg, leastUsdg }: ForeignRun): boolean {
  return reverted || feeUsdg < costUsdg || (leastUsdg !== null && feeUsdg < leastUsdg);
}

/** Whether work of a contract goes on after `runs`, in any order; those older than the window count for nothing. */
export function judgeBreaker(
  runs: readonly ForeignRun[],
  nowMs: number,
  rules: BreakerRules,
): BreakerVerdict {
  const within = runs
    .filter(({ atMs }) => atMs > nowMs - rules.windowMs)
    .toSorted((a, b) => a.atMs - b.atMs);
  let losses = within.filter(isLoss).length;
  let netUsdg = within.reduce((sum, { feeUsdg, costUsdg }) => sum + feeUsdg - costUsdg, 0n);
  const isOver = (): boolean =>
    losses >= rules.mostLosses || (netUsdg < 0n && -netUsdg >= rules.mostLossUsdg);
  if (!isOver()) {
    // What it earned before is ours: it buys no larger loss.
    return { tag: 'runs', leftUsdg: rules.mostLossUsdg + (netUsdg < 0n ? netUsdg : 0n) };
  }
  const verdict = { tag: 'stopped', losses, netUsdg } as const;
  for (const run of within) {
    if (isLoss(run)) losses -= 1;
    netUsdg -= run.feeUsdg - run.costUsdg;
    if (!isOver()) return { ...verdict, untilMs: run.atMs + rules.windowMs };
  }
  return { ...verdict, untilMs: nowMs + rules.windowMs };
}

/**
 * The gas price up to which a transaction of `gasLimit` costs no more than `leftUsdg` even if it earns nothing, at most
 * `maxFeePerGas`; what it costs at the price of now where that is above.
 */
export function capByLoss(
  { gasLimit, maxFeePerGas }: { gasLimit: bigint; maxFeePerGas: bigint },
  leftUsdg: bigint,
  { gasPriceWei, ethPrice }: GasMarket,
): { tag: 'within'; maxFeePerGas: bigint } | { tag: 'over'; costUsdg: bigint } {
  const price = ethPrice ?? 0n;
  const affordable = maxGasPrice(leftUsdg, gasLimit, price, { minProfitUsdg: 0n, marginBps: 0n });
  if (affordable < gasPriceWei) {
    return { tag: 'over', costUsdg: gasCostUsdg(gasLimit, gasPriceWei, price) };
  }
  return { tag: 'within', maxFeePerGas: affordable < maxFeePerGas ? affordable : maxFeePerGas };
}
