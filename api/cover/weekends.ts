/**
 * The weekends that a basket has lived through, whether or not cover was sold for them: 10-minute average NAVs at close
 * and at settlement. What the market recorded counts where it did; of the others the NAV history tells (interface.md,
 * Cover resources).
 */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import { SNAPSHOT_VALIDITY } from '../../contracts-abi/constants.ts';
import { type CoverWeek, coverWeek } from '../../contracts-abi/cover-calendar.ts';
import { type EpochTables, readEpoch } from '../indexer/epoch.ts';
import { MINUTE } from '../nav/minutes.ts';
import type { NavHistory } from '../nav/nav-history.ts';
import { type CoverIndex, outcomeKey } from './cover-index.ts';
import type { Weekend } from './weekend-odds.ts';

const WEEK = 7 * 86_400;
/** Minutes of the market's own average. */
const AVERAGED = 10;
/** Weekends of ten years; older ones are left out. */
const MOST_WEEKENDS = 520;

export type Weekends = {
  /** In order of time. */
  weekends: readonly Weekend[];
  /** Close of the first of them; without any, of the first there can be. Unix seconds. */
  since: number;
};

/** When a week closes and settles: as published, or else as the calendar has it. */
export type TimesOf = (week: number) => Pick<CoverWeek, 'close' | 'settle'>;

/** Of rows of one epoch; null for a week without prices. */
type Kept = { epoch: string; weeks: Map<number, Weekend | null> };

/**
 * Seconds from which on a weekend stays as it is told: the hour in which the market may record its settlement, and one
 * for an index that lags.
 */
const STANDS_AFTER = Number(SNAPSHOT_VALIDITY) + 3_600;

export class WeekendHistory {
  readonly #db: Kysely<EpochTables>;
  readonly #index: CoverIndex;
  readonly #navs: NavHistory;
  /** One a basket, of MOST_WEEKENDS and those that come while the process runs. */
  readonly #kept = new Map<Address, Kept>();

  constructor(db: Kysely<EpochTables>, index: CoverIndex, navs: NavHistory) {
    this.#db = db;
    this.#index = index;
    this.#navs = navs;
  }

  /**
   * Weekends of a basket that are over at `now`. They change when another is over, or when old rows are read again.
   * @throws what the store throws.
   */
  async of(
    basket: { vault: Address; genesisAt: number },
    now: number,
    timesOf: TimesOf = coverWeek,
  ): Promise<Weekends> {
    const { vault, genesisAt } = basket;
    const first = firstWeekFrom(genesisAt, timesOf);
    const last = lastWeekOver(now, timesOf);
    const kept = this.#keptOf(vault, await readEpoch(this.#db));
    const ids: number[] = [];
    for (let id = Math.max(first, last - MOST_WEEKENDS + 1); id <= last; id += 1) ids.push(id);
    const unknown = ids.filter((id) => !kept.has(id));
    const outcomes = await this.#index.outcomesOf(unknown, vault);
    const fresh = new Map<number, Weekend | null>();
    for (const week of unknown) {
      const { close, settle } = timesOf(week);
      const told = outcomes.get(outcomeKey(week, vault));
      const closeNav = told?.closeNav ?? (await this.#averageAt(vault, close));
      const settleNav = told?.settleNav ?? (await this.#averageAt(vault, settle));
      // Read again once the history is complete.
      if (closeNav === 'incomplete' || settleNav === 'incomplete') continue;
      const weekend =
        closeNav === null || settleNav === null ? null : { week, closeNav, settleNav };
      (settle + STANDS_AFTER <= now ? kept : fresh).set(week, weekend);
    }
    const weekends = ids.flatMap((id) => kept.get(id) ?? fresh.get(id) ?? []);
    return { weekends, since: timesOf(weekends[0]?.week ?? first).close };
  }

  #keptOf(vault: Address, epoch: string): Kept['weeks'] {
    const known = this.#kept.get(vault);
    if (known?.epoch === epoch) return known.weeks;
    const weeks: Kept['weeks'] = new Map();
    this.#kept.set(vault, { epoch, weeks });
    return weeks;
  }

  /** Mean of the NAVs at the ends of the ten minutes up to `time`; null where one of them has no price. */
  async #averageAt(vault: Address, time: number): Promise<bigint | null | 'incomplete'> {
    // The last one has only begun.
    const candles = await this.#navs.candles(vault, MINUTE, AVERAGED + 1, time);
    if (candles === null) return 'incomplete';
    const closes = candles.slice(0, -1);
    if (closes.length < AVERAGED) return null;
    return closes.reduce((sum, { c }) => sum + c, 0n) / BigInt(AVERAGED);
  }
}

function firstWeekFrom(time: number, timesOf: TimesOf): number {
  let week = Math.floor(time / WEEK);
  while (timesOf(week).close - AVERAGED * MINUTE < time) week += 1;
  return week;
}

function lastWeekOver(now: number, timesOf: TimesOf): number {
  let week = Math.floor(now / WEEK);
  while (timesOf(week).settle > now) week -= 1;
  return week;
}
