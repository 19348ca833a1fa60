/** The parser of the cover routes against answers written by hand: what is sound passes, and nothing else does. */
import type { Hex } from 'viem';
import { describe, expect, test } from 'vitest';
import { book } from './cover-book.ts';
import { coverPlan } from './cover-plan.ts';
import { coverPositions } from './cover-positions.ts';
import * as samples from './cover-samples.ts';
import { weeks } from './cover.ts';
import { ERRORS, type ErrorCode } from './errors.ts';
import { mutate } from './mutations.ts';
import { routeOf, shapeOf } from './routes.ts';
import { notesOf, type Shape } from './shape.ts';
import { MAY_BE_MISSING } from './tolerated.ts';

const asked = (query: string) => book(new URLSearchParams(query));
const quoted = asked(samples.BOOK_QUERY);

const STATUS = ['status.accountPaused', 'status.coverDailyLimitUsdg'];
const PLAN = [...STATUS, 'typedData.types.EIP712Domain'];
const PLACE = ['fromBps', 'ticker', 'toBps', 'week'];

const SOUND: [name: string, Shape<unknown>, body: object, mayBeMissing: string[]][] = [
  ['weeks', weeks, samples.weeksSample(), []],
  ['book', quoted, samples.bookSample(), ['asOfBlock', 'capLeftUsd', 'note']],
  [
    'positions',
    coverPositions,
    samples.positionsSample(),
    ['asOfBlock', 'credit', 'positions.*.closeNav', 'positions.*.id', 'positions.*.settleNav'],
  ],
  ['take', coverPlan, samples.takeSample(), ['offers', ...PLAN]],
  ['request', coverPlan, samples.requestSample(), PLAN],
  ['cancel', coverPlan, samples.cancelSample(), ['summary.returned', ...PLAN]],
  [
    'cancel that names its place',
    coverPlan,
    { ...samples.cancelSample(), ticker: 'MAG7', week: 2_970, fromBps: 300, toBps: 1_000 },
    ['summary.returned', ...PLAN, ...PLACE],
  ],
];

describe('a sound answer', () => {
  test.each(SOUND)('passes: %s', (_, shape, body) => {
    const { faults, unknown } = notesOf(shape, body);
    expect({ faults, unknown }).toEqual({ faults: [], unknown: [] });
  });

  test.each(SOUND)('is refused with a field missing, of another type, or spoilt: %s', (...row) => {
    const [, shape, body, mayBeMissing] = row;
    const before = structuredClone(body);
    const { tried, deletions, retypes, alternatives, deformed } = mutate(shape, body);
    expect({
      missing: [...deletions].sort(),
      retypes: [...retypes].filter((name) => !alternatives.has(name)),
      deformed: [...deformed],
    }).toEqual({ missing: mayBeMissing.toSorted(), retypes: [], deformed: [] });
    expect(tried).toBeGreaterThan(100);
    expect(body).toEqual(before);
  });
});

/** One value changed, and what the parser says to it; places are written with dots. */
type Wrong = [fault: string, changes: Record<string, unknown>];

function faultsAfter(shape: Shape<unknown>, body: object, changes: Record<string, unknown>) {
  for (const [place, value] of Object.entries(changes)) {
    const keys = place.split('.');
    let holder = body as Record<string, unknown>;
    for (const key of keys.slice(0, -1)) holder = holder[key] as Record<string, unknown>;
    holder[keys.at(-1) ?? ''] = value;
  }
  return notesOf(shape, body).faults.map(({ message }) => message);
}

describe('weeks', () => {
  const { close } = samples.weeksSample().weeks[0] ?? { close: 0 };
  const wrong: Wrong[] = [
    ['current is none of weeks', { current: 2_969 }],
    ['current is not the first week that trades', { current: 2_971 }],
    ['current is not the first week that trades', { current: null }],
    ['settles before it closes', { 'weeks.0.settle': close }],
    ['cutoffAt is not an hour before close', { 'weeks.0.cutoffAt': close - 600 }],
    ['a week open past its cutoff', { now: close - 3_600 }],
    ['weeks out of order', { 'weeks.1.id': 2_973 }],
    [
      'more than the current week and the next two',
      {
        'weeks.3': {
          id: 2_973,
          close: close + 21 * 86_400,
          settle: close + 24 * 86_400,
          cutoffAt: close + 21 * 86_400 - 3_600,
          tradingOpen: true,
        },
      },
    ],
    ['a preset off the grid', { 'presets.0.fromBps': 310 }],
    ['a preset off the grid', { 'presets.0.fromBps': 950 }],
    ['a range twice', { 'presets.1': { fromBps: 300, toBps: 1_000 } }],
    ['fromBps is not below toBps', { 'presets.0.toBps': 300 }],
    ['a ticker twice', { 'tickers.1': 'MAG7' }],
    ['none of 29.7', { 'session.maxTakePer1k': 30 }],
    ['out of bounds', { 'terms.maxToBps': 3_001 }],
  ];
  test.each(wrong)('%s', (fault, changes) => {
    expect(faultsAfter(weeks, samples.weeksSample(), changes)).toContain(fault);
  });

  test('may name no week at all, and close them under a pause', () => {
    expect(faultsAfter(weeks, samples.weeksSample(), { current: null, weeks: [] })).toEqual([]);
    const [first, ...others] = samples.weeksSample().weeks.map((week) => ({
      ...week,
      tradingOpen: false,
    }));
    const changes = { paused: true, weeks: [first, ...others] };
    expect(faultsAfter(weeks, samples.weeksSample(), changes)).toEqual([]);
  });
});

describe('book', () => {
  const wrong: Wrong[] = [
    ['nobody takes his own offer', { 'ranges.0.offers.1.sessionCanTake': true }],
    ['dearer than a session may take', { 'ranges.0.offers.2.sessionCanTake': true }],
    ["depthUsd is not the cover of others' offers", { 'ranges.0.depthUsd': 1_600 }],
    ["cheapestPer1k is not the least of others' offers", { 'ranges.0.cheapestPer1k': 15 }],
    ["cheapestPer1k is not the least of others' offers", { 'ranges.1.cheapestPer1k': 0 }],
    ['an offer twice', { 'ranges.0.offers.2.id': '7' }],
    ['a range off the grid', { 'ranges.1.toBps': 1_501 }],
    ['a range twice', { 'ranges.1.fromBps': 300, 'ranges.1.toBps': 1_000 }],
    ['full ≤ paid ≤ all weekends does not hold', { 'ranges.0.history.fullWeekends': 4 }],
    ['full ≤ paid ≤ all weekends does not hold', { 'ranges.0.history.paidWeekends': 53 }],
    ['payouts of no weekend', { 'ranges.1.history.estimatePer1k': 1 }],
    ['out of bounds', { 'ranges.0.history.fairPer1k': 1_000.5 }],
    ['fairPer1k is no average of such weekends', { 'ranges.0.history.fairPer1k': 60 }],
    ['fairPer1k is no average of such weekends', { 'ranges.0.history.fairPer1k': 19 }],
    ['filledUsd and restUsd are not coverUsd', { 'ranges.0.quote.restUsd': 1 }],
    ['cost is not premium and fee', { 'ranges.0.quote.fee': 0.124 }],
    ['costUsdg is not cost in base units', { 'ranges.0.quote.costUsdg': '12423100' }],
    ['per1k is null exactly where nothing is filled', { 'ranges.0.quote.per1k': null }],
    ['per1k is null exactly where nothing is filled', { 'ranges.1.quote.per1k': 20 }],
    ['per1k is neither premium nor cost of $1,000', { 'ranges.0.quote.per1k': 25 }],
    [
      'nothing filled has a cost',
      {
        'ranges.1.quote.premium': 1,
        'ranges.1.quote.cost': 1,
        'ranges.1.quote.costUsdg': '1000000',
      },
    ],
    [
      'the fee is not 1% of the premium',
      {
        'ranges.0.quote.premium': 12.2,
        'ranges.0.quote.fee': 0.223,
        'ranges.0.quote.per1k': 24.4,
      },
    ],
    ['more filled than is offered', { 'ranges.0.offers.0.coverUsd': 50, 'ranges.0.depthUsd': 450 }],
    [
      'filled below the cheapest offer',
      { 'ranges.0.offers.0.pricePer1k': 26, 'ranges.0.cheapestPer1k': 26 },
    ],
  ];
  test.each(wrong)('%s', (fault, changes) => {
    expect(faultsAfter(quoted, samples.bookSample(), changes)).toContain(fault);
  });

  test('is the one that was asked for', () => {
    const faults = (query: string) => faultsAfter(asked(query), samples.bookSample(), {});
    const other = samples.BOOK_QUERY;
    expect(faults(other.replace('2970', '2971'))).toEqual(['another week than was asked for']);
    expect(faults(`${other}&fromBps=300&toBps=1000`)).toEqual(['another range than was asked for']);
    expect(faults(other.replace('=500', '=600'))).toEqual(
      Array(2).fill('a quote of other cover than was asked for'),
    );
    expect(faults(other.replace('account', 'x'))).toEqual(['an offer of nobody who asked']);
    expect(faults('')).toEqual(Array(2).fill('belongs to another form'));
  });

  test('has a quote exactly where cover was asked for', () => {
    const text = JSON.stringify(samples.bookSample(), (key, value: unknown) =>
      key === 'quote' ? undefined : value,
    );
    const plain = JSON.parse(text) as object;
    expect(faultsAfter(asked(`account=0x${'a'.repeat(40)}`), plain, {})).toEqual([]);
    expect(faultsAfter(quoted, plain, {})).toEqual(['missing', 'missing']);
  });
});

describe('positions', () => {
  const wrong: Wrong[] = [
    ['paidOut of what is not paid', { 'positions.0.paid': false }],
    ['paid before the weekend is over', { 'positions.2.paid': true }],
    ['more paid out than was locked', { 'positions.1.paidOut': 715 }],
    ['paidOut is not what the move pays', { 'positions.0.paidOut': 200.01 }],
    ['paidOut is not what the move pays', { 'positions.0.move': 0.05 }],
    ['a void gives back premium and fee', { 'positions.0.move': 'void' }],
    ['move is not from closeNav to settleNav', { 'positions.0.closeNav': 10.001 }],
    ['none of void', { 'positions.1.move': 'none' }],
    ['none of buyer, underwriter', { 'positions.0.role': 'seller' }],
    ['fromBps is not below toBps', { 'listings.0.toBps': 200 }],
    ['more open than was listed', { 'listings.0.openUsd': 201 }],
    ['none of request, offer', { 'listings.0.side': 'buy' }],
  ];
  test.each(wrong)('%s', (fault, changes) => {
    expect(faultsAfter(coverPositions, samples.positionsSample(), changes)).toContain(fault);
  });

  test('pay nothing above the range and everything below it', () => {
    const after = (settleNav: number, move: number, paidOut: number) =>
      faultsAfter(coverPositions, samples.positionsSample(), {
        'positions.0.settleNav': settleNav,
        'positions.0.move': move,
        'positions.0.paidOut': paidOut,
      });
    expect([after(9.8, -0.02, 0), after(8.8, -0.12, 700)]).toEqual([[], []]);
    expect(after(9.8, -0.02, 1)).toEqual(['paidOut is not what the move pays']);
  });
});

describe('a plan', () => {
  const both = (name: string, value: unknown) => ({
    [`action.${name}`]: value,
    [`typedData.message.${name}`]: value,
  });
  const wrong: Wrong[] = [
    ['the message is not the action', { 'action.nonce': '1' }],
    ['another verifying contract', { module: `0x${'4'.repeat(40)}` }],
    ['an action of another account', both('account', `0x${'b'.repeat(40)}`)],
    ['an action of another account', both('key', `0x${'b'.repeat(40)}`)],
    ['a deadline past the grant', { 'status.validUntil': 1_700_000_000 }],
    ['a plan of a session without cover', { 'status.coverEnabled': false }],
    ['new cover while it is paused', { 'status.paused': true }],
    ['a fee above $10', both('fee', '10000001')],
    ['more than cover may cost today', { coverRemainingTodayUsdg: '2400000' }],
    ['more than the account has', { 'status.usdgWei': '2400000' }],
    [
      'relayerUrl is not the route of cover',
      { relayerUrl: 'https://relayer.example.org/base/relay/v1/account/execute' },
    ],
    [
      'another relayer than that of the session',
      { relayerUrl: 'https://other.example.org/base/relay/v1/account/cover' },
    ],
    ['none of basket cover', { 'typedData.domain.name': 'basket account' }],
    ['none of bytes', { 'typedData.types.CoverAction.3.type': 'bytes32' }],
    ['none of CoverAction', { 'typedData.primaryType': 'Action' }],
    ['none of 1', both('kind', 4)],
    ['intent is none of take, request, cancel', { intent: 'offer' }],
    ['cost is not the premium', { 'summary.cost': 2.525 }],
    ['the fee is not 1% of the premium', { 'summary.fee': 0.03 }],
    ['data is of another week, range or cover', { week: 2_971 }],
    ['data is of another week, range or cover', { 'summary.cover': 201 }],
    ['premium is not cover at the price', { 'summary.premium': 2.6, 'summary.cost': 2.6 }],
  ];
  test.each(wrong)('to request cover: %s', (fault, changes) => {
    expect(faultsAfter(coverPlan, samples.requestSample(), changes)).toContain(fault);
  });

  const { takeData, requestData } = samples;
  const sound = takeData([7n, 9n], [300n, 200n], 500n, 15_000_000n);
  const takes: [string, Hex][] = [
    ['data is no take', '0x'],
    ['data is no take', `${sound}${'0'.repeat(64)}`],
    ['data is no take', sound.replace(/.{64}$/, '') as Hex],
    ['not one part of each offer', takeData([], [], 0n, 0n)],
    ['not one part of each offer', takeData([7n], [300n, 200n], 500n, 15_000_000n)],
    ['not one part of each offer', takeData([7n, 7n], [300n, 200n], 500n, 15_000_000n)],
    ['minCoverUsd is not the sum of coverUsd', takeData([7n, 9n], [300n, 200n], 499n, 1n)],
    ['minCoverUsd is not the sum of coverUsd', takeData([7n, 9n], [500n, 0n], 500n, 1n)],
    ['limit above 3%', takeData([7n, 9n], [300n, 200n], 500n, 15_000_001n)],
    ['cost above limit', takeData([7n, 9n], [300n, 200n], 500n, 11_000_000n)],
    ['summary of other cover', takeData([7n, 9n], [300n, 100n], 400n, 12_000_000n)],
    ['offers are not those of data', takeData([9n, 7n], [300n, 200n], 500n, 15_000_000n)],
  ];
  test.each(takes)('to take cover: %s (%#)', (fault, data) => {
    expect(faultsAfter(coverPlan, samples.takeSample(data), {})).toContain(fault);
  });

  test('to take cover costs premium and fee', () => {
    const faults = (changes: object) =>
      faultsAfter(coverPlan, samples.takeSample(), { ...changes });
    expect(faults({ 'summary.cost': 11 })).toEqual(['cost is not premium and fee']);
    expect(faults({ 'summary.fee': 0.12, 'summary.cost': 11.12 })).toEqual([
      'the fee is not 1% of the premium',
    ]);
    expect(faults({ 'typedData.message.kind': 1 })).toEqual(['none of 0']);
  });

  test.each([30_010_000n, 12_505_000n, 0n])('to request cover at no price of %d', (price) => {
    const { faults } = notesOf(coverPlan, samples.requestSample(requestData(200n, price)));
    expect(faults.map(({ message }) => message)).toContain('no price that a session may ask');
  });

  test('to cancel carries no fee, names one listing, and passes under a pause', () => {
    const faults = (data: Hex | undefined, changes: Record<string, unknown>) =>
      faultsAfter(coverPlan, samples.cancelSample(data), changes);
    expect(faults(undefined, { 'status.paused': true })).toEqual([]);
    expect(faults(undefined, both('fee', '1'))).toEqual(['a cancel carries no fee']);
    expect(faults(`0x${'00'.repeat(31)}`, {})).toEqual(['data is no cancel']);
    expect(faults(`0x${'00'.repeat(64)}`, {})).toEqual(['data is no cancel']);
  });
});

test('codes of cover belong to its routes', () => {
  const statuses = (code: ErrorCode, method: string, path: string): readonly number[] =>
    ERRORS[code].statuses({ method, path });
  const agent = ['POST', '/v1/agent/cover'] as const;
  for (const code of ['NOT_A_HOLDER', 'NO_COVER', 'COVER_CLOSED', 'ORDER_NOT_OPEN'] as const) {
    expect(statuses(code, ...agent)).toEqual([422]);
    expect(statuses(code, 'POST', '/v1/agent/trade')).toEqual([]);
    expect(statuses(code, 'GET', '/v1/cover/weeks')).toEqual([]);
    const ofBook = code === 'COVER_CLOSED' ? [422] : [];
    expect(statuses(code, 'GET', '/v1/cover/book/MAG7')).toEqual(ofBook);
  }
  expect(statuses('UNKNOWN_BASKET', ...agent)).toEqual([400]);
  expect(statuses('UNKNOWN_BASKET', 'GET', '/v1/cover/book/NONE')).toEqual([404]);
});

describe('the routes of cover', () => {
  const account = `0x${'a'.repeat(40)}`;
  test.each([
    ['GET', '/v1/cover/weeks', [samples.weeksSample()]],
    ['GET', `/v1/cover/book/MAG7?${samples.BOOK_QUERY}`, [samples.bookSample()]],
    ['GET', `/v1/cover/positions/${account}`, [samples.positionsSample()]],
    ['POST', '/v1/agent/cover', [samples.takeSample(), samples.cancelSample()]],
  ] as const)('are known, and what of them may be missing: %s %s', (method, path, bodies) => {
    const request = { method, path };
    const shape = shapeOf(request, 200);
    expect(bodies.flatMap((body) => notesOf(shape, body).faults)).toEqual([]);
    const listed = MAY_BE_MISSING[routeOf(request) ?? ''] ?? [];
    const missing = new Set(bodies.flatMap((body) => [...mutate(shape, body).deletions]));
    expect([...missing].sort()).toEqual(listed);
  });
});
