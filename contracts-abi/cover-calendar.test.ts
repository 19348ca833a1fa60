import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COVER_CUTOFF } from './constants.ts';
import { coverWeek, coverWeeks, cutoffOf } from './cover-calendar.ts';

const HOUR = 3_600;
const at = (iso: string): number => Date.parse(iso) / 1_000;

/** New York's wall clock in words, asked of the platform in another way than the code under test does. */
const wallClock = (seconds: number): string =>
  new Date(seconds * 1_000).toLocaleString('en-GB', {
    timeZone: 'America/New_York',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });

/** From the epoch's first weekend with today's daylight saving rules in force to 2090. */
const moments = fc.integer({ min: at('2007-01-01T00:00:00Z'), max: at('2090-01-01T00:00:00Z') });

describe('weeks of the cover market', () => {
  it.each([
    // Standard time, daylight saving time, and the weekends in which the clocks change, over several years.
    ['winter', '2026-01-16T21:00:00Z', '2026-01-19T15:00:00Z', 66],
    ['summer', '2026-07-17T20:00:00Z', '2026-07-20T14:00:00Z', 66],
    ['forward in 2024', '2024-03-08T21:00:00Z', '2024-03-11T14:00:00Z', 65],
    ['back in 2024', '2024-11-01T20:00:00Z', '2024-11-04T15:00:00Z', 67],
    ['forward in 2025', '2025-03-07T21:00:00Z', '2025-03-10T14:00:00Z', 65],
    ['back in 2025', '2025-10-31T20:00:00Z', '2025-11-03T15:00:00Z', 67],
    ['forward in 2026', '2026-03-06T21:00:00Z', '2026-03-09T14:00:00Z', 65],
    ['back in 2026', '2026-10-30T20:00:00Z', '2026-11-02T15:00:00Z', 67],
    ['forward in 2027', '2027-03-12T21:00:00Z', '2027-03-15T14:00:00Z', 65],
    ['back in 2027', '2027-11-05T20:00:00Z', '2027-11-08T15:00:00Z', 67],
    ['over a year’s end', '2027-12-31T21:00:00Z', '2028-01-03T15:00:00Z', 66],
  ])('%s', (_, close, settle, hours) => {
    const [week] = coverWeeks(at(close), 1);
    expect(week).toEqual({
      id: Math.floor(at(close) / 604_800),
      close: at(close),
      settle: at(settle),
    });
    expect((at(settle) - at(close)) / HOUR).toBe(hours);
  });

  it('of a year: one has 65 hours, one has 67, all others 66', () => {
    for (const year of [2024, 2025, 2026, 2027, 2028]) {
      const hours = coverWeeks(at(`${year}-01-01T00:00:00Z`), 52).map(
        ({ close, settle }) => (settle - close) / HOUR,
      );
      expect(hours.filter((h) => h === 65)).toHaveLength(1);
      expect(hours.filter((h) => h === 67)).toHaveLength(1);
      expect(hours.filter((h) => h === 66)).toHaveLength(50);
    }
  });

  it('a week whose close is this second still counts, a second later the next one is first', () => {
    const [week] = coverWeeks(at('2026-07-17T20:00:00Z'), 1);
    expect(week?.close).toBe(at('2026-07-17T20:00:00Z'));
    const [next] = coverWeeks(at('2026-07-17T20:00:01Z'), 1);
    expect(next?.id).toBe((week?.id ?? 0) + 1);
  });

  it('always closes Friday 16:00 and settles Monday 10:00 in New York', () => {
    fc.assert(
      fc.property(moments, (from) => {
        const [week] = coverWeeks(from, 1);
        expect(wallClock(week?.close ?? 0)).toBe('Fri 16:00:00');
        expect(wallClock(week?.settle ?? 0)).toBe('Mon 10:00:00');
      }),
    );
  });

  it('are consecutive, none before the moment asked for, the first within eight days of it', () => {
    fc.assert(
      fc.property(moments, fc.integer({ min: 1, max: 60 }), (from, count) => {
        const weeks = coverWeeks(from, count);
        expect(weeks).toHaveLength(count);
        const [first] = weeks;
        expect(first?.close).toBeGreaterThanOrEqual(from);
        expect(first?.close).toBeLessThan(from + 8 * 86_400);
        for (const [index, week] of weeks.entries()) {
          expect(week.id).toBe((first?.id ?? 0) + index);
          expect(week).toEqual(coverWeek(week.id));
        }
      }),
    );
  });

  it('satisfy what the market checks of a published week', () => {
    fc.assert(
      fc.property(moments, (from) => {
        const [week] = coverWeeks(from, 1);
        if (week === undefined) throw new Error('no week');
        // Close and settlement share the id, which is what a position names its week by.
        expect(Math.floor(week.close / 604_800)).toBe(week.id);
        expect(Math.floor(week.settle / 604_800)).toBe(week.id);
        expect(week.settle - week.close).toBeGreaterThanOrEqual(86_400);
        expect(week.settle - week.close).toBeLessThanOrEqual(4 * 86_400);
        expect(cutoffOf(week)).toBe(week.close - Number(COVER_CUTOFF));
      }),
    );
  });

  it('depend on the moment alone: asked from anywhere between two closes they are the same', () => {
    fc.assert(
      fc.property(moments, fc.integer({ min: 0, max: 3 * 86_400 }), (from, later) => {
        const [week] = coverWeeks(from, 1);
        if (week === undefined) throw new Error('no week');
        const between = Math.min(from + later, week.close);
        expect(coverWeeks(between, 3)).toEqual(coverWeeks(from, 3));
      }),
    );
  });
});
