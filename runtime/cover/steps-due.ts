/** Which step a basket's week of the cover market waits for (ICoverMarket, CoverSettlement.sol; rule 22). Pure. */
import { SNAPSHOT_VALIDITY } from '../../contracts-abi/constants.ts';

/** ICoverMarket.Outcome, in its order. */
const OUTCOMES = ['open', 'closed', 'settled', 'void'] as const;
export type CoverOutcome = (typeof OUTCOMES)[number];

export function outcomeOf(index: number): CoverOutcome {
  return OUTCOMES[index] ?? 'open';
}

/** Unix seconds. */
export type WeekTimes = { close: number; settle: number };

export type CoverStep = 'snapshot' | 'settle' | 'void';

/**
 * The step that is due at `now` (unix seconds of the block), null for none. A snapshot may be taken from its moment
 * (inclusive) until an hour later (exclusive); from then on the week can only be voided. Nothing is due where nothing
 * was sold.
 */
export function stepDue(
  market: { outcome: CoverOutcome; sold: boolean },
  times: WeekTimes,
  now: number,
): CoverStep | null {
  if (!market.sold || market.outcome === 'settled' || market.outcome === 'void') return null;
  const open = market.outcome === 'open';
  const moment = open ? times.close : times.settle;
  if (now < moment) return null;
  if (now >= moment + Number(SNAPSHOT_VALIDITY)) return 'void';
  return open ? 'snapshot' : 'settle';
}

/** A reorg undoes less than this: what was final for so long stays so and is not asked again. */
const FINAL_AFTER = 86_400;

/** Whether nothing of this week's market can change any more but its payouts. */
export function isOver(
  market: { outcome: CoverOutcome; sold: boolean },
  times: WeekTimes,
  now: number,
): boolean {
  const final = !market.sold || market.outcome === 'settled' || market.outcome === 'void';
  return final && now >= times.settle + Number(SNAPSHOT_VALIDITY) + FINAL_AFTER;
}
