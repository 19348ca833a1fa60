/** What an account has of the cover market (wire.md, Cover reads: positions). */
import { addr, count, flag, int, nearly, num, wei, words } from './formats.ts';
import { dollars, ordered, type Range, rangeFields, unique, weekId } from './cover.ts';
import { ticker } from './marks.ts';
import { array } from './collections.ts';
import { literal, nullable, object, type Rule, type Shape, typeOf } from './shape.ts';

const fraction = num({ min: -1 });
const gone = literal('void');

/** A number, or the word for a weekend without snapshots. */
const settled: Shape<number | 'void'> = {
  types: ['number', 'string'],
  check(value, place, notes): value is number | 'void' {
    const from = notes.seen.length;
    const holds = (typeOf(value) === 'string' ? gone : fraction).check(value, place, notes);
    const own = notes.seen[from];
    if (own !== undefined) notes.seen[from] = { ...own, types: this.types };
    return holds;
  },
  deform: (value) => (typeOf(value) === 'string' ? gone : fraction).deform(value),
  names: (name) => [name],
};

const position = {
  ticker,
  week: weekId,
  role: literal('buyer', 'underwriter'),
  ...rangeFields,
  coverUsd: int({ min: 1 }),
  premium: dollars,
  fees: dollars,
  move: nullable(settled),
  paid: flag,
  paidOut: dollars,
};
type Position = Range & {
  role: 'buyer' | 'underwriter';
  coverUsd: number;
  premium: number;
  fees: number;
  move: number | 'void' | null;
  paid: boolean;
  paidOut: number;
};

/** Whether this is what cover pays for a move: the part of the range that the drop went through. */
function isPayout({ fromBps, toBps, coverUsd, paidOut }: Position, move: number): boolean {
  const width = (toBps - fromBps) / 10_000;
  const part = Math.min(Math.max((-move - fromBps / 10_000) / width, 0), 1);
  // The move is rounded to 8 digits, and what is paid to base units.
  const slack = coverUsd * ((Math.abs(move) * 1e-7) / width + 1e-7) + 2e-6;
  return Math.abs(paidOut - coverUsd * part) <= slack;
}

const positionRules: readonly Rule<Position>[] = [
  ordered,
  ({ paid, paidOut }) => (paid || paidOut === 0 ? undefined : 'paidOut of what is not paid'),
  ({ paid, move }) => (paid && move === null ? 'paid before the weekend is over' : undefined),
  // What an underwriter gets back is his cover less the payout, and the premium: which of them paidOut is, nobody says.
  ({ coverUsd, premium, paidOut }) =>
    paidOut <= (coverUsd + premium) * (1 + 1e-7) ? undefined : 'more paid out than was locked',
  (row) =>
    row.paid && row.role === 'buyer' && typeof row.move === 'number' && !isPayout(row, row.move)
      ? 'paidOut is not what the move pays'
      : undefined,
  ({ role, paid, move, paidOut, premium, fees }) =>
    role !== 'buyer' || !paid || move !== 'void' || paidOut === 0 || nearly(paidOut, premium + fees)
      ? undefined
      : 'a void gives back premium and fee',
];

/** Extras of ours: the snapshots that the move is between. */
const movesBetweenSnapshots: Rule<Position> = (row) => {
  const { closeNav, settleNav } = row as { closeNav?: unknown; settleNav?: unknown };
  if (typeof closeNav !== 'number' || typeof settleNav !== 'number') return undefined;
  if (typeof row.move !== 'number' || closeNav === 0) return undefined;
  return Math.abs(row.move - (settleNav / closeNav - 1)) <= 5e-7
    ? undefined
    : 'move is not from closeNav to settleNav';
};

const listing = object(
  {
    id: wei,
    week: weekId,
    ticker,
    side: literal('request', 'offer'),
    ...rangeFields,
    pricePer1k: dollars,
    openUsd: count,
    listedUsd: int({ min: 1 }),
  },
  {
    rules: [
      ordered,
      ({ openUsd, listedUsd }) => (openUsd <= listedUsd ? undefined : 'more open than was listed'),
    ],
  },
);

/** `GET /v1/cover/positions/{account}`. */
export const coverPositions = object(
  {
    account: addr,
    positions: array(
      object(position, {
        ours: { id: wei, closeNav: nullable(dollars), settleNav: nullable(dollars) },
        rules: [...positionRules, movesBetweenSnapshots],
      }),
    ),
    listings: array(listing, [
      (rows) => (unique(rows, ({ id }) => id) ? undefined : 'a listing twice'),
    ]),
  },
  { optional: { note: words }, ours: { asOfBlock: count, credit: dollars } },
);
