/**
 * The weekends that a basket has lived through, whether or not cover was sold for them: 10-minute average NAVs at close
 * and at settlement. What the market recorded counts where it did; of the others the NAV history tells (interface.md,
 * Cover resources).
 */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
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

type Kept = { key: string; weekends: Weekends };

export class WeekendHistory {
  readonly #db: Kysely<EpochTables>;
  readonly #index: CoverIndex;
  readonly #navs: NavHistory;
  /** One a basket. */
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
    const [first, last] = [firstWeekFrom(genesisAt, timesOf), lastWeekOver(now, timesOf)];
    const key = `${await readEpoch(this.#db)}:${first}:${last}`;
    const known = this.#kept.get(vault);
    if (known?.key === key) return known.weekends;
    const ids: number[] = [];
    for (let id = Math.max(first, last - MOST_WEEKENDS + 1); id <= last; id += 1) ids.push(id);
    const outcomes = await this.#index.outcomesOf(ids, vault);
    const found: Weekend[] = [];
    for (const week of ids) {
      const { close, settle } = timesOf(week);
      const told = outcomes.get(outcomeKey(week, vault));
      const closeNav = told?.closeNav ?? (await this.#averageAt(vault, close));
      const settleNav = told?.settleNav ?? (await this.#averageAt(vault, settle));
      // Not recorded where the history does not reach, or has no price.
      if (closeNav !== null && settleNav !== null) found.push({ week, closeNav, settleNav });
    }
    const since = timesOf(found[0]?.week ?? first).close;
    const weekends = { weekends: found, since };
    if (found.length > 0 || ids.length === 0) this.#kept.set(vault, { key, weekends });
    return weekends;
  }

  /** Mean of the NAVs at the ends of the ten minutes up to `time`; null where one of them is not known. */
  async #averageAt(vault: Address, time: number): Promise<bigint | null> {
    // The last one has only begun.
    const candles = await this.#navs.candles(vault, MINUTE, AVERAGED + 1, time);
    const closes = candles?.slice(0, -1) ?? [];
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
