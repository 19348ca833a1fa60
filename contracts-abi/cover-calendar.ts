/**
 * Weeks of the cover market: close Friday 16:00, settle Monday 10:00, both New York wall time (protocol.md). Pure.
 *
 * The market's daylight saving is settled here, when weeks are published: the chain knows unix seconds alone. A weekend
 * has 66 hours, 65 when the clocks go forward in it and 67 when they go back. Exchange holidays change nothing: the
 * tokens trade all the time (README.md, "Holidays"). An owner may publish a week with other times by hand, and a week's
 * times stand once they are published.
 */
import { COVER_CUTOFF } from './constants.ts';

export type CoverWeek = {
  /** close / 7 days. The epoch was a Thursday, so a Friday and the Monday after it fall into one number. */
  id: number;
  /** Unix seconds. */
  close: number;
  settle: number;
};

const DAY = 86_400;
const WEEK = 7 * DAY;
const CLOSE_HOUR = 16;
const SETTLE_HOUR = 10;
/** Day 0 of the epoch is a Thursday. */
const FRIDAY = 1;
const MONDAY = 4;

/** Wall clock of New York from the platform's time-zone data. */
const NEW_YORK = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/New_York',
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
});

/** The first `count` weeks whose close is at or after `from` (unix seconds), in order. */
export function coverWeeks(from: number, count: number): CoverWeek[] {
  const weeks: CoverWeek[] = [];
  for (let id = Math.floor(from / WEEK); weeks.length < count; id += 1) {
    const week = coverWeek(id);
    if (week.close >= from) weeks.push(week);
  }
  return weeks;
}

/** The week of this id. Throws RangeError when the id is not a whole number that dates can carry. */
export function coverWeek(id: number): CoverWeek {
  const firstDay = id * 7;
  return {
    id,
    close: newYorkTime(firstDay + FRIDAY, CLOSE_HOUR),
    settle: newYorkTime(firstDay + MONDAY, SETTLE_HOUR),
  };
}

/** When trading in the week ends: nothing is sold from this second on. */
export function cutoffOf(week: Pick<CoverWeek, 'close'>): number {
  return week.close - Number(COVER_CUTOFF);
}

/**
 * Unix seconds at which New York's clocks show this hour of this day (days since the epoch). Clocks change at two in
 * the morning of a Sunday, so an hour of a Friday or a Monday exists exactly once.
 */
function newYorkTime(day: number, hour: number): number {
  const wall = day * DAY + hour * 3_600;
  return wall - newYorkOffset(wall - newYorkOffset(wall));
}

/** Seconds that New York's wall clock is ahead of UTC at this moment: negative. */
function newYorkOffset(at: number): number {
  const parts = new Map(
    NEW_YORK.formatToParts(at * 1_000).map(({ type, value }) => [type, Number(value)]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? Number.NaN;
  const wall = Date.UTC(
    of('year'),
    of('month') - 1,
    of('day'),
    of('hour'),
    of('minute'),
    of('second'),
  );
  return wall / 1_000 - at;
}
