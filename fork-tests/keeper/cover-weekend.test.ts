/**
 * A whole weekend of cover through the api, the relayer and a keeper that nobody looks after, by warped time: what an
 * agent buys, what the weekend pays it, and where each base unit of everybody's money is afterwards.
 */
import { type Address, parseEventLogs } from 'viem';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { type CoverWeek, coverWeek, coverWeeks } from '../../contracts-abi/cover-calendar.ts';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { coverActionFromJson } from '../../contracts-abi/typed-data.ts';
import {
  coverAgent,
  type CoverPlanBody,
  currentWeek,
  onMarket,
  usdgOf,
} from '../api/cover-agent.ts';
import { expectError, expectOk, useApi } from '../api/use-api.ts';
import { write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { launchKeeper, stopKeepers, until } from './use-keeper.ts';
import { type Agent, signedCover } from '../relayer/agent.ts';
import {
  type DataFolder,
  dataFolder,
  startTestRelayer,
  type TestRelayer,
} from '../relayer/relayer.ts';

const fork = useFork();
const api = useApi(fork);

const TICKER = 'MAG7';
/** Nobody else offers in this range. */
const RANGE = { fromBps: 400, toBps: 1_200 };
const HOUR = 3_600;
const DAY = 24 * HOUR;

/** What the agent buys, from whom, in USDG base units; worked out by hand from prices, parts and the 1% fee. */
const SOLD = [
  { from: 'frank', coverUsd: 470n, premium: 2_773_000n, fee: 27_730n },
  { from: 'erin', coverUsd: 50n, premium: 320_000n, fee: 3_200n },
  { from: 'frank', coverUsd: 30n, premium: 177_000n, fee: 1_770n },
  { from: 'erin', coverUsd: 750n, premium: 4_800_000n, fee: 48_000n },
  // A request's fee is inside its premium.
  { from: 'erin', coverUsd: 120n, premium: 1_465_992n, fee: 14_808n },
] as const;

let data: DataFolder;
let relayer: TestRelayer;
let agent: Agent;
/** Fees of the relayer that the account paid. */
let relayed: bigint;

beforeEach(async () => {
  data = dataFolder();
  relayer = await startTestRelayer(fork, data);
  relayed = 0n;
});
afterEach(async () => {
  await stopKeepers();
  await relayer.stop();
  data.remove();
});

const address = (role: 'frank' | 'erin' | 'keeper' | 'relayer'): Address =>
  fork.accounts[role].account.address;
const market = () => ({ address: fork.deployment.coverMarket, abi: coverMarketAbi }) as const;
const feePool = () => fork.client.readContract({ ...market(), functionName: 'feePool' });

async function eventsOf<
  const Name extends
    | 'Listed'
    | 'CoverSold'
    | 'SnapshotTaken'
    | 'WeekSettled'
    | 'WeekVoided'
    | 'RewardPaid',
>(eventName: Name) {
  const logs = await fork.client.getLogs({
    address: fork.deployment.coverMarket,
    fromBlock: BigInt(fork.deployment.startBlock),
  });
  return parseEventLogs({ abi: coverMarketAbi, eventName, logs });
}

const warpTo = async (time: number) => fork.warp(time - (await fork.now()));

async function mineAt(time: number): Promise<void> {
  await fork.client.setNextBlockTimestamp({ timestamp: BigInt(time) });
  await fork.client.mine({ blocks: 1 });
}

const planned = async (body: object): Promise<CoverPlanBody> => {
  const answer = await api.post('/v1/agent/cover', {
    owner: fork.accounts.alice.account.address,
    key: agent.key.address,
    ...body,
  });
  expectOk(answer);
  return answer.body as unknown as CoverPlanBody;
};

/** As an agent does: plan, sign, post; signed once more with the fee where the relayer asks for one. */
async function order(body: object): Promise<CoverPlanBody> {
  await api.settled();
  const plan = await planned(body);
  let action = coverActionFromJson(plan.action);
  let reply = await relayer.postCover(await signedCover(fork, agent, action));
  if (reply.status === 402) {
    action = { ...action, fee: BigInt(String(reply.body.requiredFee)) };
    reply = await relayer.postCover(await signedCover(fork, agent, action));
  }
  expect(reply).toMatchObject({ status: 200, body: { ok: true } });
  relayed += action.fee;
  return plan;
}

type Offered = { underwriter: 'frank' | 'erin'; coverUsd: bigint; cents: bigint };

async function offer(week: number, { underwriter, coverUsd, cents }: Offered): Promise<void> {
  const terms = {
    week,
    vault: fork.vault(TICKER),
    ...RANGE,
    coverUsd,
    pricePer1k: (cents * USD) / 100n,
  };
  await onMarket(fork, underwriter, { functionName: 'offer', args: [terms, false] });
}

const listingsOf = async (owner: Address): Promise<{ id: string; openUsd: number }[]> => {
  const { body } = await api.get(`/v1/cover/positions/${owner}`);
  const listings = body.listings as unknown as ({ id: string; openUsd: number } & typeof RANGE)[];
  return listings.filter(({ fromBps }) => fromBps === RANGE.fromBps);
};

/** Buys over two offers, what is left of both, and by a request of which an underwriter fills a part. */
async function trade({ id: week }: CoverWeek): Promise<void> {
  await offer(week, { underwriter: 'frank', coverUsd: 500n, cents: 590n });
  await offer(week, { underwriter: 'erin', coverUsd: 800n, cents: 640n });
  await offer(week, { underwriter: 'erin', coverUsd: 100n, cents: 900n });
  await api.settled();
  const book = await api.get(`/v1/cover/book/${TICKER}?coverUsd=520&week=${week}`);
  const ranges = book.body.ranges as unknown as { fromBps: number; toBps: number }[];
  expect(ranges.filter(({ fromBps }) => fromBps === RANGE.fromBps)).toMatchObject([
    { ...RANGE, depthUsd: 1_400, cheapestPer1k: 5.9, quote: { costUsdg: '3123930' } },
  ]);
  const terms = { ticker: TICKER, ...RANGE };
  const first = await order({ action: 'take', ...terms, coverUsd: 520 });
  expect(first.offers.map(({ coverUsd }) => coverUsd)).toEqual([470, 50]);
  const part = { action: 'take', ...terms, coverUsd: 1_500, maxPricePer1k: 6.4 };
  await api.settled();
  const whole = await api.post('/v1/agent/cover', {
    owner: fork.accounts.alice.account.address,
    key: agent.key.address,
    ...part,
  });
  expectError(whole, 422, 'NO_COVER', /holds \$780 of the \$1500/);
  const rest = await order({ ...part, allowPartial: true });
  expect(rest.summary).toMatchObject({ cover: 780, cost: 5.02677 });

  await order({ action: 'request', ...terms, coverUsd: 200, pricePer1k: 12.34 });
  await api.settled();
  const [listing] = await listingsOf(agent.account);
  const id = listing?.id ?? '';
  await onMarket(fork, 'erin', { functionName: 'fill', args: [BigInt(id), 120n] });
  const back = await order({ action: 'cancel', listingId: id });
  expect(back.summary).toMatchObject({ cover: 80, returned: 0.9872 });
}

/** Not a second longer than until the cutoff; what nobody bought goes back to its underwriter. */
async function closeTrading({ id: week, close }: CoverWeek): Promise<void> {
  const body = { action: 'take', ticker: TICKER, ...RANGE, week, coverUsd: 100 };
  await mineAt(close - HOUR - 1);
  expect((await planned(body)).summary.cover).toBe(100);
  await mineAt(close - HOUR);
  const late = await api.post('/v1/agent/cover', {
    owner: fork.accounts.alice.account.address,
    key: agent.key.address,
    ...body,
  });
  expectError(late, 422, 'COVER_CLOSED');
  await api.settled();
  const [unsold] = await listingsOf(address('erin'));
  expect(unsold?.openUsd).toBe(100);
  await write(fork.client, fork.accounts.bob.account, {
    ...market(),
    functionName: 'sendBack',
    args: [BigInt(unsold?.id ?? '')],
  });
}

async function everybody() {
  return {
    account: await usdgOf(fork, agent.account),
    frank: await usdgOf(fork, address('frank')),
    erin: await usdgOf(fork, address('erin')),
    keeper: await usdgOf(fork, address('keeper')),
    market: await usdgOf(fork, fork.deployment.coverMarket),
    relayer: await usdgOf(fork, address('relayer')),
    pool: await feePool(),
  };
}

type Everybody = Awaited<ReturnType<typeof everybody>>;

/** Who has how much more than before; `each` is what a sale paid its buyer and its underwriter in the end. */
function changes(before: Everybody, after: Everybody): Everybody {
  const names = Object.keys(before) as (keyof Everybody)[];
  return Object.fromEntries(
    names.map((name) => [name, after[name] - before[name]]),
  ) as unknown as Everybody;
}

async function sales() {
  const sold = await eventsOf('CoverSold');
  return sold.filter(({ args }) => args.buyer === agent.account).map(({ args }) => args);
}

const sum = (amounts: readonly bigint[]): bigint =>
  amounts.reduce((total, amount) => total + amount, 0n);

/** What the weekend has to leave: the sales as worked out above, each with what it pays its buyer. */
async function expectMoney(
  before: Everybody,
  payouts: readonly bigint[],
  { isVoid }: { isVoid: boolean },
): Promise<void> {
  const rewards =
    sum((await eventsOf('SnapshotTaken')).map(({ args }) => args.reward)) +
    sum((await eventsOf('WeekSettled')).map(({ args }) => args.reward)) +
    sum((await eventsOf('WeekVoided')).map(({ args }) => args.reward)) +
    sum((await eventsOf('RewardPaid')).map(({ args }) => args.reward));
  const earned = (who: 'frank' | 'erin') =>
    sum(
      SOLD.map(({ from, premium }, index) =>
        from === who ? (isVoid ? 0n : premium) - (payouts[index] ?? 0n) : 0n,
      ),
    );
  const paid = isVoid ? 0n : sum(SOLD.map(({ premium, fee }) => premium + fee));
  const fees = isVoid ? 0n : sum(SOLD.map(({ fee }) => fee));
  expect(changes(before, await everybody())).toEqual({
    account: sum(payouts) - paid - relayed,
    frank: earned('frank'),
    erin: earned('erin'),
    keeper: rewards,
    market: fees - rewards,
    relayer: relayed,
    pool: fees - rewards,
  });
  expect(relayed).toBeGreaterThan(0n);
}

/** The positions as the api shows them to their buyer. */
async function expectPositions(payouts: readonly bigint[], move: number | 'void'): Promise<void> {
  await api.settled();
  const { body } = await api.get(`/v1/cover/positions/${agent.account}`);
  const positions = body.positions as unknown as { id: string; move: number | string }[];
  expect(positions).toHaveLength(SOLD.length);
  const ids = (await sales()).map(({ positionId }) => positionId.toString());
  for (const [index, id] of ids.entries()) {
    const position = positions.find((each) => each.id === id);
    expect(position).toMatchObject({ paid: true, coverUsd: Number(SOLD[index]?.coverUsd) });
    // Eight significant digits.
    const dollars = Number((Number(payouts[index]) / 1e6).toPrecision(8));
    expect(position).toHaveProperty('paidOut', dollars);
    if (move === 'void') expect(position?.move).toBe('void');
    else expect(Math.abs(Number(position?.move) - move)).toBeLessThan(0.002);
  }
}

/** Opens the account, trades, and comes to the cutoff. */
async function buyCover(week: CoverWeek): Promise<Everybody> {
  agent = await coverAgent(fork, TICKER);
  await api.settled();
  const before = await everybody();
  await trade(week);
  expect(
    (await sales()).map(({ coverUsd, premium, fee, underwriter }) => ({
      from: underwriter === address('frank') ? 'frank' : 'erin',
      coverUsd,
      premium,
      fee,
    })),
  ).toEqual(SOLD);
  await closeTrading(week);
  return before;
}

async function pushBasket(factor: number): Promise<void> {
  const basket = fork.deployment.baskets.find(({ ticker }) => ticker === TICKER);
  for (const symbol of Object.keys(basket?.targetWeights ?? {})) {
    await fork.pushPrice(symbol, factor);
  }
}

async function nothingDue(): Promise<boolean> {
  const { body } = await api.get('/v1/cover/payouts');
  return (body.payouts as unknown[] | undefined)?.length === 0;
}

/** Close, a drop over the weekend, settlement and payouts, all by the keeper. */
async function weekend({ close, settle }: CoverWeek, factor: number): Promise<bigint[]> {
  const keeper = await launchKeeper(fork, [api.url]);
  keeper.run();
  await warpTo(close - 60);
  expect(await eventsOf('SnapshotTaken')).toEqual([]);
  await warpTo(close);
  await until('the close is on record', async () => (await eventsOf('SnapshotTaken')).length === 1);
  await pushBasket(factor);
  await warpTo(settle - 60);
  expect(await eventsOf('WeekSettled')).toEqual([]);
  await warpTo(settle);
  await until('the week is settled', async () => (await eventsOf('WeekSettled')).length === 1);
  await until('all is paid', nothingDue, 40_000);
  const [closed] = await eventsOf('SnapshotTaken');
  const [settled] = await eventsOf('WeekSettled');
  const from = closed?.args.nav ?? 0n;
  const to = settled?.args.nav ?? 0n;
  expect(Math.abs(Number(to) / Number(from) - factor)).toBeLessThan(0.002);
  const width = BigInt(RANGE.toBps - RANGE.fromBps) * from;
  const above = (from - to) * 10_000n - BigInt(RANGE.fromBps) * from;
  const inside = above < 0n ? 0n : above > width ? width : above;
  return SOLD.map(({ coverUsd }) => (coverUsd * USD * inside) / width);
}

async function thisWeek(): Promise<CoverWeek> {
  const { week, close, settle } = await currentWeek(fork);
  return { id: week, close, settle };
}

describe('a weekend', { timeout: 180_000 }, () => {
  test.for([
    ['below the range pays nothing', 0.97, [0n, 0n]],
    ['within the range pays a part', 0.92, [0.45, 0.55]],
    ['beyond the range pays in full', 0.85, [1, 1]],
  ] as const)('whose drop is %s', async ([, factor, [least, most]]) => {
    const week = await thisWeek();
    const before = await buyCover(week);
    const payouts = await weekend(week, factor);
    for (const [index, payout] of payouts.entries()) {
      const part = Number(payout) / Number((SOLD[index]?.coverUsd ?? 0n) * USD);
      expect(part).toBeGreaterThanOrEqual(Number(least));
      expect(part).toBeLessThanOrEqual(Number(most));
    }
    await expectMoney(before, payouts, { isVoid: false });
    await expectPositions(payouts, factor - 1);
  });

  test('whose close was missed gives everybody what he put in', async () => {
    const week = await thisWeek();
    const before = await buyCover(week);
    await warpTo(week.close + HOUR);
    await api.settled();
    const keeper = await launchKeeper(fork, [api.url]);
    keeper.run();
    await until('the week is void', async () => (await eventsOf('WeekVoided')).length === 1);
    await until('all is paid back', nothingDue, 40_000);
    const refunds = SOLD.map(() => 0n);
    await expectMoney(before, refunds, { isVoid: true });
    await expectPositions(
      SOLD.map(({ premium, fee }) => premium + fee),
      'void',
    );
  });

  test('in which the clocks of New York change is as long as it is there', async () => {
    const week = await clockChange();
    const times = await fork.client.readContract({
      ...market(),
      functionName: 'weekOf',
      args: [week.id],
    });
    expect(times).toEqual({ close: week.close, settle: week.settle });
    expect([65 * HOUR, 67 * HOUR]).toContain(week.settle - week.close);
    await warpTo(week.close - 3 * DAY);
    const before = await buyCover(week);
    const payouts = await weekend(week, 0.92);
    await expectMoney(before, payouts, { isVoid: false });
  });
});

/** The next weekend that is not 66 hours long: where the calendar ends before it, time passes and it is carried on. */
async function clockChange(): Promise<CoverWeek> {
  const read = { ...market(), functionName: 'publishedWeeks' } as const;
  for (;;) {
    const soonest = (await fork.now()) + 3 * DAY;
    const weeks = (await fork.client.readContract(read)).map(coverWeek);
    const found = weeks.find(
      ({ close, settle }) => close > soonest && settle - close !== 66 * HOUR,
    );
    if (found !== undefined) return found;
    await fork.warp(60 * DAY);
    const times = coverWeeks(weeks.at(-1)?.settle ?? soonest, 8).map(({ close, settle }) => ({
      close,
      settle,
    }));
    await write(fork.client, fork.accounts.deployer.account, {
      ...market(),
      functionName: 'publishWeeks',
      args: [times],
    });
  }
}
