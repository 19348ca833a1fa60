/** The cover reads and the agent's cover route: what they answer, and every code that they refuse with. */
import { encodeFunctionData } from 'viem';
import { beforeEach, describe, expect, test } from 'vitest';
import { decodeCoverData } from '../../contracts-abi/cover-data.ts';
import { protocolPauseAbi, sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { useFork } from '../harness/fork.ts';
import { type Agent, asAccount } from '../relayer/agent.ts';
import {
  coverAgent,
  type CoverPlanBody,
  currentWeek,
  execute,
  onMarket,
  usdgOf,
} from './cover-agent.ts';
import { sendCall } from './send-plan.ts';
import { expectError, expectOk, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork);

const TICKER = 'MAG7';
const RANGE = { fromBps: 300, toBps: 1_000 };
const USD = 1_000_000n;

type Offer = {
  id: string;
  pricePer1k: number;
  coverUsd: number;
  sessionCanTake: boolean;
  mine?: boolean;
};
type Quote = {
  coverUsd: number;
  filledUsd: number;
  restUsd: number;
  premium: number;
  fee: number;
  cost: number;
  costUsdg: string;
  per1k: number | null;
};
type RangeRow = {
  fromBps: number;
  toBps: number;
  offers: Offer[];
  depthUsd: number;
  cheapestPer1k: number | null;
  quote?: Quote;
};

let agent: Agent;

const cover = (body: object) =>
  api.post('/v1/agent/cover', {
    owner: fork.accounts.alice.account.address,
    key: agent.key.address,
    ...body,
  });
/** Another owner's agent, as a request names it. */
async function others(owner: 'bob' | 'carol', terms: { coverDailyLimit?: null; funds?: bigint }) {
  const { key } = await coverAgent(fork, TICKER, { owner, ...terms });
  return { owner: fork.accounts[owner].account.address, key: key.address };
}

const take = (body: object = {}) =>
  cover({ action: 'take', ticker: TICKER, ...RANGE, coverUsd: 100, ...body });
const request = (body: object = {}) =>
  cover({ action: 'request', ticker: TICKER, ...RANGE, coverUsd: 100, pricePer1k: 10, ...body });

async function ranges(query = ''): Promise<RangeRow[]> {
  const answer = await api.get(`/v1/cover/book/${TICKER}${query}`);
  expectOk(answer);
  return answer.body.ranges as unknown as RangeRow[];
}

async function rangeOf(query = ''): Promise<RangeRow> {
  const found = (await ranges(query)).find(
    ({ fromBps, toBps }) => fromBps === RANGE.fromBps && toBps === RANGE.toBps,
  );
  if (found === undefined) throw new Error('the range is not in the book');
  return found;
}

const planned = async (
  answer: Promise<Awaited<ReturnType<typeof cover>>>,
): Promise<CoverPlanBody> => {
  const got = await answer;
  expectOk(got);
  return got.body as unknown as CoverPlanBody;
};

beforeEach(async () => {
  agent = await coverAgent(fork, TICKER);
  await api.settled();
});

describe('the reads', () => {
  test('weeks name what trades now, its terms and its baskets', async () => {
    const { week, close, settle } = await currentWeek(fork);
    const { body } = await api.get('/v1/cover/weeks');
    expect(body).toMatchObject({
      current: week,
      paused: false,
      terms: {
        feeBps: 100,
        minCoverUsd: 50,
        rangeStepBps: 50,
        minFromBps: 100,
        minWidthBps: 100,
        maxToBps: 3_000,
      },
      session: { maxTakePer1k: 29.7, maxRequestPer1k: 30, weeksAhead: 2, maxPremiumOfCover: 0.03 },
    });
    expect(body.weeks).toHaveLength(3);
    expect((body.weeks as unknown as unknown[])[0]).toEqual({
      id: week,
      close,
      settle,
      cutoffAt: close - 3_600,
      tradingOpen: true,
    });
    expect(body.tickers).toContain(TICKER);
  });

  test('a quote fills the cheapest offers first, and never a part that the market would refuse', async () => {
    // Frank's $500 at $5.90 and Erin's $800 at $6.40.
    const { offers, depthUsd, cheapestPer1k, quote } = await rangeOf('?coverUsd=520');
    expect(offers.map(({ pricePer1k, coverUsd }) => [pricePer1k, coverUsd])).toEqual([
      [5.9, 500],
      [6.4, 800],
    ]);
    expect({ depthUsd, cheapestPer1k }).toEqual({ depthUsd: 1_300, cheapestPer1k: 5.9 });
    // $20 of the second would be below its least part of $50: $30 of the first give way.
    expect(quote).toEqual({
      coverUsd: 520,
      filledUsd: 520,
      restUsd: 0,
      premium: 3.093,
      fee: 0.03093,
      cost: 3.12393,
      costUsdg: '3123930',
      per1k: 5.9480769,
    });
    const all = await rangeOf('?coverUsd=5000');
    expect(all.quote).toMatchObject({ filledUsd: 1_300, restUsd: 3_700 });
  });

  test('its own offers are marked for their owner and left out of what he is told to buy', async () => {
    const frank = fork.accounts.frank.account.address;
    const { offers, depthUsd, cheapestPer1k, quote } = await rangeOf(
      `?account=${frank}&coverUsd=100`,
    );
    expect(offers.map(({ mine, sessionCanTake }) => [mine, sessionCanTake])).toEqual([
      [true, false],
      [undefined, true],
    ]);
    expect({ depthUsd, cheapestPer1k }).toEqual({ depthUsd: 800, cheapestPer1k: 6.4 });
    expect(quote?.premium).toBe(0.64);
    const dear = (await ranges()).find(({ fromBps }) => fromBps === 100);
    expect(dear?.offers).toMatchObject([{ pricePer1k: 34, sessionCanTake: false }]);
  });

  test('what cannot be asked is refused in words', async () => {
    expectError(await api.get('/v1/cover/book/NOPE'), 404, 'UNKNOWN_BASKET');
    expectError(await api.get(`/v1/cover/book/${TICKER}?week=1`), 422, 'COVER_CLOSED', /week 1 /);
    expectError(await api.get('/v1/cover/book/PREIPO'), 422, 'COVER_CLOSED', /no cover market/);
    for (const query of [
      'week=-1',
      'coverUsd=49',
      'coverUsd=1.5',
      'fromBps=310&toBps=1000',
      'fromBps=300&toBps=350',
      'fromBps=7',
      'fromBps=50',
      'fromBps=2950',
      'toBps=310',
      'toBps=150',
      'account=1',
    ]) {
      expectError(await api.get(`/v1/cover/book/${TICKER}?${query}`), 400, 'BAD_REQUEST');
    }
    expectError(await api.get('/v1/cover/positions/0x12'), 400, 'BAD_REQUEST');
  });
});

describe('an agent', () => {
  test('takes over two offers at their very cost, and finds its positions', async () => {
    const plan = await planned(take({ coverUsd: 520 }));
    expect(plan).toMatchObject({
      intent: 'take',
      ticker: TICKER,
      summary: { cover: 520, premium: 3.093, fee: 0.03093, cost: 3.12393 },
      coverRemainingTodayUsdg: '20000000',
      relayerUrl: 'http://relay.test:8081/relay/v1/account/cover',
    });
    expect(plan.offers.map(({ coverUsd }) => coverUsd)).toEqual([470, 50]);
    expect(decodeCoverData(plan.action.kind, plan.action.data)).toMatchObject({
      minCoverUsd: 520n,
      limit: 3_123_930n,
    });
    const before = await usdgOf(fork, agent.account);
    expect((await execute(fork, agent, plan)).status).toBe('success');
    expect(before - (await usdgOf(fork, agent.account))).toBe(3_123_930n);
    const { body } = await api.until(
      `/v1/cover/positions/${agent.account}`,
      ({ body }) => (body.positions as unknown as unknown[])?.length === 2,
    );
    expect(body.positions).toMatchObject([
      {
        ticker: TICKER,
        role: 'buyer',
        ...RANGE,
        coverUsd: 50,
        premium: 0.32,
        fees: 0.0032,
        move: null,
        paid: false,
        paidOut: 0,
      },
      { coverUsd: 470, premium: 2.773, fees: 0.02773 },
    ]);
    const rest = await planned(take());
    expect(rest.coverRemainingTodayUsdg).toBe('16876070');
    expect((await rangeOf()).depthUsd).toBe(780);
  });

  test('takes what there is where it may, and is told what there is where it may not', async () => {
    const answer = await take({ coverUsd: 1_500, maxPricePer1k: 6 });
    expectError(answer, 422, 'NO_COVER', /holds \$500 of the \$1500/);
    const plan = await planned(take({ coverUsd: 1_500, maxPricePer1k: 6, allowPartial: true }));
    expect(plan.summary).toMatchObject({ cover: 500, premium: 2.95 });
    expect((await execute(fork, agent, plan)).status).toBe('success');
    expectError(await take({ maxPricePer1k: 1 }), 422, 'NO_COVER', /no cover/);
    expectError(await take({ fromBps: 100, toBps: 400 }), 422, 'NO_COVER');
  });

  test('asks for cover, and takes its request back', async () => {
    const plan = await planned(request({ coverUsd: 200, pricePer1k: 12.34 }));
    expect(plan.summary).toEqual({ cover: 200, premium: 2.468, fee: 0.02468, cost: 2.468 });
    const before = await usdgOf(fork, agent.account);
    expect((await execute(fork, agent, plan)).status).toBe('success');
    const { body } = await api.until(
      `/v1/cover/positions/${agent.account}`,
      ({ body }) => (body.listings as unknown as unknown[])?.length === 1,
    );
    const [listing] = body.listings as unknown as [{ id: string }];
    expect(listing).toMatchObject({
      side: 'request',
      ...RANGE,
      pricePer1k: 12.34,
      openUsd: 200,
      listedUsd: 200,
    });
    const cancel = await planned(cover({ action: 'cancel', listingId: listing.id }));
    expect(cancel.summary).toEqual({ cover: 200, premium: 0, fee: 0, cost: 0, returned: 2.468 });
    // What was locked counts on, though it comes back (rule 21).
    expect(cancel.coverRemainingTodayUsdg).toBe('17532000');
    expect((await execute(fork, agent, cancel)).status).toBe('success');
    expect(await usdgOf(fork, agent.account)).toBe(before);
    expectError(await cover({ action: 'cancel', listingId: listing.id }), 422, 'ORDER_NOT_OPEN');
  });

  test('cancels no listing of another, and nothing that never was', async () => {
    const { week } = await currentWeek(fork);
    const terms = {
      week,
      vault: fork.vault(TICKER),
      ...RANGE,
      coverUsd: 100n,
      pricePer1k: 9n * USD,
    };
    await onMarket(fork, 'bob', { functionName: 'request', args: [terms] });
    const { body } = await api.until(
      `/v1/cover/positions/${fork.accounts.bob.account.address}`,
      ({ body }) => (body.listings as unknown as unknown[])?.length === 1,
    );
    const [{ id }] = body.listings as unknown as [{ id: string }];
    expectError(await cover({ action: 'cancel', listingId: id }), 422, 'ORDER_NOT_OPEN');
    expectError(await cover({ action: 'cancel', listingId: '7' }), 422, 'ORDER_NOT_OPEN');
  });

  test('is refused with each code for its own reason', async () => {
    expectError(await take({ ticker: 'NOPE' }), 400, 'UNKNOWN_BASKET');
    expectError(await take({ week: 1 }), 422, 'COVER_CLOSED');
    expectError(await take({ ticker: 'PREIPO' }), 422, 'COVER_CLOSED', /no cover market/);
    expectError(await take({ ticker: 'ADS' }), 422, 'NOT_A_HOLDER');
    expectError(await request({ coverUsd: 1_000, pricePer1k: 30 }), 403, 'SESSION_LIMIT', /\$20/);
    for (const body of [
      { coverUsd: 49 },
      { fromBps: 310 },
      { toBps: 350 },
      { coverUsd: 100.5 },
      { pricePer1k: 5 },
      { listingId: '1' },
      { surprise: 1 },
      { feeUsdg: '10000001' },
    ]) {
      expectError(await take(body), 400, 'BAD_REQUEST');
    }
    for (const pricePer1k of [10.005, 10.000_000_1, 30.000_000_1, 0.010_000_000_1]) {
      expectError(await request({ pricePer1k }), 400, 'BAD_REQUEST', /whole cents/);
    }
    expectError(await request({ pricePer1k: 30.01 }), 400, 'BAD_REQUEST');
    expectError(await request({ maxPricePer1k: 30 }), 400, 'BAD_REQUEST');
    expectError(await cover({ action: 'cancel' }), 400, 'BAD_REQUEST', /listingId/);
    expectError(
      await cover({ action: 'cancel', listingId: '1', feeUsdg: '1' }),
      400,
      'BAD_REQUEST',
      /no fee/,
    );
    expectError(await cover({ action: 'offer', ticker: TICKER }), 400, 'BAD_REQUEST');
  });

  test('needs the money, cover turned on, and no pause', async () => {
    const poor = await others('bob', { funds: 2n * USD });
    expectError(
      await api.post('/v1/agent/cover', {
        ...poor,
        action: 'request',
        ticker: TICKER,
        ...RANGE,
        coverUsd: 100,
        pricePer1k: 21,
      }),
      422,
      'INSUFFICIENT_FUNDS',
    );
    const off = await others('carol', { coverDailyLimit: null });
    expectError(
      await api.post('/v1/agent/cover', {
        ...off,
        action: 'take',
        ticker: TICKER,
        ...RANGE,
        coverUsd: 100,
      }),
      403,
      'SESSION_INACTIVE',
      /turned cover on/,
    );
    expectError(
      await api.post('/v1/agent/cover', {
        ...off,
        key: agent.key.address,
        action: 'cancel',
        listingId: '1',
      }),
      403,
      'SESSION_INACTIVE',
    );
    const pause = encodeFunctionData({
      abi: sessionModuleAbi,
      functionName: 'setPaused',
      args: [true],
    });
    await asAccount(fork, agent, pause);
    await api.marksSettled();
    expectError(await take(), 503, 'PAUSED');
    await sendCall(
      fork,
      'guardian',
      fork.deployment.pause,
      encodeFunctionData({ abi: protocolPauseAbi, functionName: 'pause' }),
    );
    const { body } = await api.until('/v1/cover/weeks', ({ body }) => Boolean(body.paused));
    expect(body.paused).toBe(true);
    const book = await api.get(`/v1/cover/book/${TICKER}`);
    expect(book.body.note).toMatch(/paused/);
  });

  test('finds the market closed from the cutoff on, to the second', async () => {
    const { week, close } = await currentWeek(fork);
    await fork.client.setNextBlockTimestamp({ timestamp: BigInt(close - 3_600 - 1) });
    await fork.client.mine({ blocks: 1 });
    expectOk(await api.get(`/v1/cover/book/${TICKER}?week=${week}`));
    await fork.client.setNextBlockTimestamp({ timestamp: BigInt(close - 3_600) });
    await fork.client.mine({ blocks: 1 });
    expectError(await api.get(`/v1/cover/book/${TICKER}?week=${week}`), 422, 'COVER_CLOSED');
    expectError(await take({ week }), 422, 'COVER_CLOSED');
    const { body } = await api.get('/v1/cover/weeks');
    expect(body.current).toBe(week + 1);
  });
});
