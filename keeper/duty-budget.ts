/**
 * What is left of the week's budget for duties, and who is told when it does not suffice: the log once, `/ready` for as
 * long as work waits for it, and the metrics. USDG base units.
 *
 * Payouts leave half of it to the steps. They can wait; a snapshot that is missed voids a week. Anybody can make payouts
 * that pay nobody, by selling cover to himself, and who has to pay out of the next week would gain by a budget that is
 * spent before its snapshots.
 */
import type { Logger } from '../runtime/logger.ts';
import { Throttle } from '../runtime/throttle.ts';
import type { Journal } from './journal/journal.ts';
import type { KeeperMetrics } from './metrics.ts';
import { usdgText } from './outcome.ts';
import { DUTY_PERIOD_MS } from './policy/duty.ts';
import type { CoverType } from './work.ts';

/** The metric follows the week's end without any duty being asked for. */
const LOOK_EVERY_MS = 60_000;
/** A duty that is still listed is judged again well within this (policy/patience.ts): after it nobody waits any more. */
const WAITS_MS = 120_000;
const COMPLAIN_EVERY_MS = 600_000;

type RefusedDuty = { type: CoverType; atRiskUsdg: bigint; leftUsdg: bigint };

export type DutyBudget = {
  /** What the journal leaves of it now for work of this type. */
  left(type: CoverType): Promise<bigint>;
  /** Takes note of a duty that is not done, since it may cost more than `leftUsdg`. */
  refuse(refused: RefusedDuty): void;
  /** Reads what is left, once a minute at most. */
  look(): Promise<void>;
  /** For `/ready`; null while no duty waits for the budget. */
  warning(): string | null;
};

export function createDutyBudget(parts: {
  budgetUsdg: bigint;
  journal: Pick<Journal, 'dutyLoss'>;
  metrics: Pick<KeeperMetrics, 'dutyBudgetLeft' | 'dutiesOverBudget'>;
  logger: Logger;
  now: () => number;
}): DutyBudget {
  const { budgetUsdg, journal, metrics, logger, now } = parts;
  const looks = new Throttle(LOOK_EVERY_MS, 1, now);
  const complaints = new Throttle(COMPLAIN_EVERY_MS, 1, now);
  let waiting: (RefusedDuty & { atMs: number }) | null = null;
  /** Whether the log has it that the budget does not suffice now. */
  let told = false;
  const stillWaiting = (): typeof waiting =>
    waiting !== null && now() - waiting.atMs < WAITS_MS ? waiting : null;

  const leftFor = (type: CoverType, leftUsdg: bigint): bigint => {
    const kept = type === 'payout' ? budgetUsdg / 2n : 0n;
    return leftUsdg > kept ? leftUsdg - kept : 0n;
  };

  async function readLeft(): Promise<bigint> {
    const lost = await journal.dutyLoss(now() - DUTY_PERIOD_MS);
    const leftUsdg = budgetUsdg > lost ? budgetUsdg - lost : 0n;
    metrics.dutyBudgetLeft.set(Number(leftUsdg) / 1e6);
    if (waiting !== null && leftFor(waiting.type, leftUsdg) >= waiting.atRiskUsdg) waiting = null;
    return leftUsdg;
  }

  return {
    left: async (type) => leftFor(type, await readLeft()),
    refuse({ type, atRiskUsdg, leftUsdg }) {
      if (stillWaiting() === null) told = false;
      waiting = { type, atRiskUsdg, leftUsdg, atMs: now() };
      // A budget of nothing is the operator's decision: no reason to alarm him, again and again.
      if (budgetUsdg > 0n) metrics.dutiesOverBudget.inc();
      if (!told && complaints.lets('spent')) {
        told = true;
        logger.warn(
          {
            type,
            leftUsdg: usdgText(leftUsdg),
            atRiskUsdg: usdgText(atRiskUsdg),
            budgetUsdg: usdgText(budgetUsdg),
          },
          "the week's budget for duties does not suffice: work that others wait for is left undone (KEEPER_DUTY_BUDGET_USDG)",
        );
      }
    },
    async look() {
      if (looks.lets('left')) await readLeft();
    },
    warning() {
      const refused = stillWaiting();
      if (refused === null) return null;
      return `a ${refused.type} that may cost ${usdgText(refused.atRiskUsdg)} waits: ${usdgText(refused.leftUsdg)} is left for it of the week's ${usdgText(budgetUsdg)} (KEEPER_DUTY_BUDGET_USDG)`;
    },
  };
}
