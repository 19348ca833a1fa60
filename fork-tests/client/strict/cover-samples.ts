/** Answers of the cover routes written by hand from wire.md, for the tests of their parser. */
import { encodeAbiParameters, type Hex, parseAbiParameters } from 'viem';

const at = (iso: string): number => Date.parse(iso) / 1_000;
const address = (digit: string): Hex => `0x${digit.repeat(40)}`;

const terms = () => ({
  feeBps: 100,
  minCoverUsd: 50,
  rangeStepBps: 50,
  minFromBps: 100,
  minWidthBps: 100,
  maxToBps: 3_000,
});
const session = () => ({
  maxTakePer1k: 29.7,
  maxRequestPer1k: 30,
  weeksAhead: 2,
  maxPremiumOfCover: 0.03,
});

const week = (id: number, friday: string, monday: string) => ({
  id,
  close: at(`${friday}T21:00:00Z`),
  settle: at(`${monday}T15:00:00Z`),
  cutoffAt: at(`${friday}T20:00:00Z`),
  tradingOpen: true,
});

export const weeksSample = () => ({
  current: 2_970 as number | null,
  now: at('2026-12-02T12:00:00Z'),
  paused: false,
  weeks: [
    week(2_970, '2026-12-04', '2026-12-07'),
    week(2_971, '2026-12-11', '2026-12-14'),
    week(2_972, '2026-12-18', '2026-12-21'),
  ],
  terms: terms(),
  session: session(),
  tickers: ['MAG7', 'ADS'],
  presets: [
    { fromBps: 300, toBps: 1_000 },
    { fromBps: 500, toBps: 1_500 },
  ],
});

/** Asked with the cover of 500 and the account that made the second offer. */
export const BOOK_QUERY = `week=2970&coverUsd=500&account=${address('a')}`;
export const bookSample = () => ({
  ticker: 'MAG7',
  vault: address('1'),
  week: 2_970,
  terms: terms(),
  session: session(),
  ranges: [
    {
      fromBps: 300,
      toBps: 1_000,
      offers: [
        { id: '7', pricePer1k: 20, coverUsd: 300, sessionCanTake: true },
        { id: '8', pricePer1k: 15, coverUsd: 900, sessionCanTake: false, mine: true },
        { id: '9', pricePer1k: 31.5, coverUsd: 400, sessionCanTake: false },
      ],
      depthUsd: 700,
      cheapestPer1k: 20 as number | null,
      history: {
        weekends: 52,
        since: '2025-12-05',
        paidWeekends: 3,
        fullWeekends: 1,
        fairPer1k: 25.5,
        estimatePer1k: 24.25,
      },
      // $6 for the first and $6.30 for 200 of the third.
      quote: {
        coverUsd: 500,
        filledUsd: 500,
        restUsd: 0,
        premium: 12.3,
        fee: 0.123,
        cost: 12.423,
        costUsdg: '12423000',
        per1k: 24.6 as number | null,
      },
    },
    {
      fromBps: 500,
      toBps: 1_500,
      offers: [],
      depthUsd: 0,
      cheapestPer1k: null as number | null,
      history: {
        weekends: 0,
        since: '2026-12-04',
        paidWeekends: 0,
        fullWeekends: 0,
        fairPer1k: 0,
        estimatePer1k: 0,
      },
      quote: {
        coverUsd: 500,
        filledUsd: 0,
        restUsd: 500,
        premium: 0,
        fee: 0,
        cost: 0,
        costUsdg: '0',
        per1k: null as number | null,
      },
    },
  ],
  note: 'Less than you asked for is on offer in one of the ranges.',
  asOfBlock: 120,
  capLeftUsd: 40_000,
});

const position = (id: string, role: string) => ({
  id,
  ticker: 'MAG7',
  week: 2_969,
  role,
  fromBps: 300,
  toBps: 1_000,
  coverUsd: 700,
  premium: 14,
  fees: 0.14,
});

export const positionsSample = () => ({
  account: address('a'),
  positions: [
    // A fall of 5% is two sevenths of the way from 3% to 10%.
    {
      ...position('1', 'buyer'),
      move: -0.05 as number | string | null,
      paid: true,
      paidOut: 200,
      closeNav: 10,
      settleNav: 9.5,
    },
    {
      ...position('2', 'underwriter'),
      move: 'void',
      paid: true,
      paidOut: 700,
      closeNav: 10,
      settleNav: null,
    },
    {
      ...position('3', 'buyer'),
      week: 2_970,
      move: null,
      paid: false,
      paidOut: 0,
      closeNav: null,
      settleNav: null,
    },
  ],
  listings: [
    {
      id: '12',
      week: 2_970,
      ticker: 'MAG7',
      side: 'request',
      fromBps: 300,
      toBps: 1_000,
      pricePer1k: 12.5,
      openUsd: 150,
      listedUsd: 200,
    },
  ],
  credit: 12.5,
  asOfBlock: 120,
});

const CHAIN_TIME = at('2026-12-02T12:00:00Z');

const status = () => ({
  owner: address('b'),
  account: address('a'),
  key: address('c'),
  chainId: 4663,
  module: address('2'),
  deployed: true,
  moduleEnabled: true,
  coverEnabled: true,
  active: true,
  paused: false,
  usdgWei: '60000000',
  dailyLimitUsdg: '50000000',
  remainingTodayUsdg: '50000000',
  maxSlippageBps: 100,
  validUntil: CHAIN_TIME + 86_400,
  approvalUrl: 'https://example.org/approve',
  relayerUrl: 'https://relayer.example.org/base/relay/v1/account/execute',
  revokeEffect: 'Listings stay until the owner cancels them.',
  accountPaused: false,
  coverDailyLimitUsdg: '20000000',
});

const field = (name: string, type: string) => ({ name, type });

function plan(intent: string, kind: number, data: Hex, summary: Record<string, number>) {
  const action = () => ({
    account: address('a'),
    key: address('c'),
    kind,
    data,
    nonce: '340282366920938463463374607431768211456',
    deadline: CHAIN_TIME + 300,
    fee: intent === 'cancel' ? '0' : '20000',
  });
  return {
    intent,
    summary,
    status: status(),
    coverRemainingTodayUsdg: '20000000',
    module: address('3'),
    action: action(),
    typedData: {
      domain: {
        name: 'basket cover',
        version: '1',
        chainId: 4663,
        verifyingContract: address('3'),
      },
      types: {
        EIP712Domain: [
          field('name', 'string'),
          field('version', 'string'),
          field('chainId', 'uint256'),
          field('verifyingContract', 'address'),
        ],
        CoverAction: [
          field('account', 'address'),
          field('key', 'address'),
          field('kind', 'uint8'),
          field('data', 'bytes'),
          field('nonce', 'uint256'),
          field('deadline', 'uint48'),
          field('fee', 'uint256'),
        ],
      },
      primaryType: 'CoverAction',
      message: action(),
    },
    relayerUrl: 'https://relayer.example.org/base/relay/v1/account/cover',
    simulation: { ok: null, skipped: 'The relayer simulates the signed action.' },
  };
}

const place = { ticker: 'MAG7', week: 2_970, fromBps: 300, toBps: 1_000 };

export function takeData(ids: bigint[], parts: bigint[], least: bigint, limit: bigint): Hex {
  const types = parseAbiParameters('uint256[], uint64[], uint256, uint256');
  return encodeAbiParameters(types, [ids, parts, least, limit]);
}

export function requestData(coverUsd: bigint, pricePer1k: bigint): Hex {
  const types = parseAbiParameters('uint32, address, uint16, uint16, uint64, uint128');
  return encodeAbiParameters(types, [2_970, address('1'), 300, 1_000, coverUsd, pricePer1k]);
}

/** $300 at $20 and $200 at $25. */
export const takeSample = (data = takeData([7n, 9n], [300n, 200n], 500n, 15_000_000n)) => ({
  ...plan('take', 0, data, { cover: 500, premium: 11, fee: 0.11, cost: 11.11 }),
  ...place,
  offers: [
    { id: '7', coverUsd: 300, pricePer1k: 20 },
    { id: '9', coverUsd: 200, pricePer1k: 25 },
  ],
});

/** $200 at $12.50. */
export const requestSample = (data = requestData(200n, 12_500_000n)) => ({
  ...plan('request', 1, data, { cover: 200, premium: 2.5, fee: 0.025, cost: 2.5 }),
  ...place,
});

export const cancelSample = (
  data: Hex = encodeAbiParameters(parseAbiParameters('uint256'), [12n]),
) => plan('cancel', 4, data, { cover: 150, premium: 0, fee: 0, cost: 0, returned: 1.875 });
