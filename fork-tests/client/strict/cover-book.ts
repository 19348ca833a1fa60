/** The book of the cover market, by range (wire.md, Cover reads: book). */
import {
  distinctRanges,
  dollars,
  isFeeOf,
  onGrid,
  ordered,
  type Range,
  rangeFields,
  session,
  terms,
  unique,
  weekId,
} from './cover.ts';
import { addr, count, flag, int, matching, nearly, num, wei, words } from './formats.ts';
import { ticker } from './marks.ts';
import { array } from './collections.ts';
import { type Infer, nullable, object, type Rule, type Shape } from './shape.ts';

const offer = object(
  { id: wei, pricePer1k: dollars, coverUsd: int({ min: 1 }), sessionCanTake: flag },
  {
    optional: { mine: flag },
    rules: [
      ({ sessionCanTake, mine }) =>
        sessionCanTake && mine === true ? 'nobody takes his own offer' : undefined,
      ({ sessionCanTake, pricePer1k }) =>
        sessionCanTake && pricePer1k > 29.7 ? 'dearer than a session may take' : undefined,
    ],
  },
);

const since = matching(/^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{3})?Z)?$/, 'a date', ['', 'soon']);

const history = object(
  {
    weekends: count,
    since,
    paidWeekends: count,
    fullWeekends: count,
    fairPer1k: num({ min: 0, max: 1_000 }),
    estimatePer1k: num({ min: 0, max: 1_000 }),
  },
  {
    rules: [
      ({ weekends, paidWeekends, fullWeekends }) =>
        fullWeekends <= paidWeekends && paidWeekends <= weekends
          ? undefined
          : 'full ≤ paid ≤ all weekends does not hold',
      ({ weekends, fairPer1k, estimatePer1k }) =>
        weekends > 0 || (fairPer1k === 0 && estimatePer1k === 0)
          ? undefined
          : 'payouts of no weekend',
      // An average over all weekends, where a full one pays $1,000 and one that paid nothing $0.
      ({ weekends, paidWeekends, fullWeekends, fairPer1k }) => {
        const sum = fairPer1k * weekends;
        return sum >= fullWeekends * 1_000 * (1 - 1e-6) && sum <= paidWeekends * 1_000 * (1 + 1e-6)
          ? undefined
          : 'fairPer1k is no average of such weekends';
      },
    ],
  },
);

const quote = object(
  {
    coverUsd: int({ min: 1 }),
    filledUsd: count,
    restUsd: count,
    premium: dollars,
    fee: dollars,
    cost: dollars,
    costUsdg: wei,
    per1k: nullable(dollars),
  },
  {
    rules: [
      ({ coverUsd, filledUsd, restUsd }) =>
        filledUsd + restUsd === coverUsd ? undefined : 'filledUsd and restUsd are not coverUsd',
      ({ premium, fee, cost }) =>
        nearly(cost, premium + fee) ? undefined : 'cost is not premium and fee',
      ({ cost, costUsdg }) =>
        nearly(cost, Number(costUsdg) / 1e6) ? undefined : 'costUsdg is not cost in base units',
      ({ filledUsd, per1k }) =>
        (filledUsd === 0) === (per1k === null)
          ? undefined
          : 'per1k is null exactly where nothing is filled',
      ({ filledUsd, cost }) =>
        filledUsd > 0 || cost === 0 ? undefined : 'nothing filled has a cost',
      // No document says whether the fee is in it.
      ({ filledUsd, premium, cost, per1k }) =>
        per1k === null ||
        (per1k * filledUsd >= premium * 1_000 * (1 - 2e-7) &&
          per1k * filledUsd <= cost * 1_000 * (1 + 2e-7))
          ? undefined
          : 'per1k is neither premium nor cost of $1,000',
    ],
  },
);

type Offer = Infer<typeof offer>;
type Row = Range & { offers: Offer[]; depthUsd: number; cheapestPer1k: number | null };

const rowRules: readonly Rule<Row>[] = [
  ordered,
  ({ offers, depthUsd }) =>
    depthUsd === others(offers).reduce((sum, { coverUsd }) => sum + coverUsd, 0)
      ? undefined
      : "depthUsd is not the cover of others' offers",
  ({ offers, cheapestPer1k }) => {
    const prices = others(offers).map(({ pricePer1k }) => pricePer1k);
    const least = prices.length === 0 ? null : Math.min(...prices);
    return cheapestPer1k === least ? undefined : "cheapestPer1k is not the least of others' offers";
  },
];

const others = (offers: readonly Offer[]): Offer[] => offers.filter(({ mine }) => mine !== true);

const rowFields = {
  ...rangeFields,
  offers: array(offer),
  depthUsd: count,
  cheapestPer1k: nullable(dollars),
  history,
};

const plainRow = object(rowFields, { absent: ['quote'], rules: rowRules });

/** With `coverUsd`, each range says what taking it costs. */
const quotedRow = (coverUsd: number) =>
  object(
    { ...rowFields, quote },
    {
      rules: [
        ...rowRules,
        ({ quote: quoted }) =>
          quoted.coverUsd === coverUsd ? undefined : 'a quote of other cover than was asked for',
        ({ quote: { filledUsd }, depthUsd }) =>
          filledUsd <= depthUsd ? undefined : 'more filled than is offered',
        ({ quote: { premium, fee }, offers }) =>
          isFeeOf(fee, premium, offers.length) ? undefined : 'the fee is not 1% of the premium',
        ({ quote: { per1k }, cheapestPer1k }) =>
          per1k === null || per1k >= (cheapestPer1k ?? Infinity) * (1 - 2e-7)
            ? undefined
            : 'filled below the cheapest offer',
      ],
    },
  );

/** `GET /v1/cover/book/{ticker}`: the week, the range and the account of the query, where it names them. */
export function book(query: URLSearchParams) {
  const asked = (name: string, value: number): boolean =>
    !query.has(name) || Number(query.get(name)) === value;
  const cover = query.get('coverUsd');
  const row: Shape<Infer<typeof plainRow>> = cover === null ? plainRow : quotedRow(Number(cover));
  return object(
    { ticker, vault: addr, week: weekId, terms, session, ranges: array(row, [distinctRanges]) },
    {
      optional: { note: words },
      ours: { asOfBlock: count, capLeftUsd: count },
      rules: [
        ({ week: id }) => (asked('week', id) ? undefined : 'another week than was asked for'),
        ({ ranges }) =>
          ranges.every(({ fromBps, toBps }) => asked('fromBps', fromBps) && asked('toBps', toBps))
            ? undefined
            : 'another range than was asked for',
        ({ ranges, terms: grid }) =>
          ranges.every((range) => onGrid(range, grid)) ? undefined : 'a range off the grid',
        ({ ranges }) =>
          unique(
            ranges.flatMap(({ offers }) => offers),
            ({ id }) => id,
          )
            ? undefined
            : 'an offer twice',
        ({ ranges }) =>
          query.has('account') ||
          ranges.every(({ offers }) => others(offers).length === offers.length)
            ? undefined
            : 'an offer of nobody who asked',
      ],
    },
  );
}
