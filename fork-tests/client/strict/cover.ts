/** Weeks and terms of the cover market (wire.md, Cover reads: weeks), and what its other answers share with them. */
import { flag, int, nearly, num, unixSeconds } from './formats.ts';
import { ticker } from './marks.ts';
import { array } from './collections.ts';
import { type Infer, literal, nullable, object, type Rule } from './shape.ts';

export const weekId = int({ min: 0, max: 2 ** 32 - 1 });
export const dollars = num({ min: 0 });
/** Ranges lie in 1 to 3000 bps. */
const drop = int({ min: 1, max: 3_000 });
export const rangeFields = { fromBps: drop, toBps: drop };
export type Range = { fromBps: number; toBps: number };

export const ordered: Rule<Range> = ({ fromBps, toBps }) =>
  fromBps < toBps ? undefined : 'fromBps is not below toBps';

/** 1% of the premium, each of the parts rounded to a base unit. */
export function isFeeOf(fee: number, premium: number, parts: number): boolean {
  return nearly(fee, premium / 100) || Math.abs(fee - premium / 100) <= parts * 1.01e-6;
}

export function unique<T>(rows: readonly T[], key: (row: T) => unknown): boolean {
  return new Set(rows.map(key)).size === rows.length;
}

/** interface.md section 8: the fee is 1%. */
export const terms = object({
  feeBps: literal(100),
  minCoverUsd: int({ min: 1 }),
  rangeStepBps: drop,
  minFromBps: drop,
  minWidthBps: drop,
  maxToBps: drop,
});
type Terms = Infer<typeof terms>;

/** What a session key may do: 3% of the cover with the fee, the current week and the next two. */
export const session = object({
  maxTakePer1k: literal(29.7),
  maxRequestPer1k: literal(30),
  weeksAhead: literal(2),
  maxPremiumOfCover: literal(0.03),
});

export function onGrid({ fromBps, toBps }: Range, grid: Terms): boolean {
  return (
    fromBps % grid.rangeStepBps === 0 &&
    toBps % grid.rangeStepBps === 0 &&
    fromBps >= grid.minFromBps &&
    toBps - fromBps >= grid.minWidthBps &&
    toBps <= grid.maxToBps
  );
}

export const distinctRanges = (ranges: readonly Range[]): string | undefined =>
  unique(ranges, ({ fromBps, toBps }) => `${fromBps}-${toBps}`) ? undefined : 'a range twice';

const CUTOFF_SECONDS = 3_600;

const week = object(
  { id: weekId, close: unixSeconds, settle: unixSeconds, cutoffAt: unixSeconds, tradingOpen: flag },
  {
    rules: [
      ({ close, settle }) => (settle > close ? undefined : 'settles before it closes'),
      ({ close, cutoffAt }) =>
        cutoffAt === close - CUTOFF_SECONDS ? undefined : 'cutoffAt is not an hour before close',
    ],
  },
);
type Week = Infer<typeof week>;

/** In order of time, the current one and the next two at most. */
const weekRules: readonly Rule<Week[]>[] = [
  (rows) => (rows.length <= 3 ? undefined : 'more than the current week and the next two'),
  (rows) =>
    rows.every(({ id, close }, index) => {
      const before = rows[index - 1];
      return before === undefined || (before.id < id && before.settle <= close);
    })
      ? undefined
      : 'weeks out of order',
];

type Calendar = { current: number | null; now: number; paused: boolean; weeks: Week[] };

const calendarRules: readonly Rule<Calendar>[] = [
  ({ current, weeks: rows }) =>
    current === null || rows.some(({ id }) => id === current)
      ? undefined
      : 'current is none of weeks',
  ({ now, weeks: rows }) =>
    rows.every(({ tradingOpen, cutoffAt }) => !tradingOpen || now < cutoffAt)
      ? undefined
      : 'a week open past its cutoff',
  // No document says whether a pause closes the weeks.
  ({ current, paused, weeks: rows }) => {
    const first = rows.find(({ tradingOpen }) => tradingOpen)?.id ?? null;
    return current === first || (paused && first === null)
      ? undefined
      : 'current is not the first week that trades';
  },
];

/** `GET /v1/cover/weeks`. */
export const weeks = object(
  {
    current: nullable(weekId),
    now: unixSeconds,
    paused: flag,
    weeks: array(week, weekRules),
    terms,
    session,
    tickers: array(ticker, [
      (names) => (unique(names, (name) => name) ? undefined : 'a ticker twice'),
    ]),
    presets: array(object(rangeFields, { rules: [ordered] }), [distinctRanges]),
  },
  {
    rules: [
      ...calendarRules,
      ({ presets, terms: grid }) =>
        presets.every((range) => onGrid(range, grid)) ? undefined : 'a preset off the grid',
    ],
  },
);
