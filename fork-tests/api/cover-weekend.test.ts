/** What the cover routes say of a weekend: while it lasts, settled, voided, and over a change of the clocks. */
import type { Hex } from 'viem';
import { beforeEach, expect, test } from 'vitest';
import { coverWeeks } from '../../contracts-abi/cover-calendar.ts';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { takeCover } from '../keeper/chain-orders.ts';
import type { Agent } from '../relayer/agent.ts';
import { coverAgent, type CoverPlanBody, currentWeek, execute, usdgOf } from './cover-agent.ts';
import { sendCall } from './send-plan.ts';
import { expectError, expectOk, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork);

const RANGE = { fromBps: 300, toBps: 1_000 };
const HOUR = 3_600;

type History = {
  weekends: number;
  since: string;
  paidWeekends: number;
  fullWeekends: number;
  fairPer1k: number;
  estimatePer1k: number;
};
type Position = {
  ticker: string;
  role: string;
  coverUsd: number;
  premium: number;
  fees: number;
  move: number | 'void' | null;
  closeNav: number | null;
  settleNav: number | null;
  paid: boolean;
  paidOut: number;
};
type Week = { id: number; close: number; settle: number; cutoffAt: number; tradingOpen: boolean };
type Candle = { t: number; c: number };

let week = 0;
let close = 0;
let settle = 0;

beforeEach(async () => {
  ({ week, close, settle } = await currentWeek(fork));
  // Past any weekend that goes on today.
  await warpTo(close - 2 * HOUR);
  await api.settled();
});

const warpTo = async (time: number) => fork.warp(time - (await fork.now()));

async function historyOf(ticker: string, { fromBps, toBps } = RANGE): Promise<History> {
  const answer = await api.get(`/v1/cover/book/${ticker}?fromBps=${fromBps}&toBps=${toBps}`);
  expectOk(answer);
  const [range] = answer.body.ranges as unknown as [{ history: History }];
  return range.history;
}

/** An account's cover as soon as the index has any of it, and it is as asked for. */
async function positionsOf(
  account: Hex,
  holds: (positions: Position[]) => boolean = () => true,
): Promise<Position[]> {
  const { body } = await api.until(`/v1/cover/positions/${account}`, (answer) => {
    const positions = answer.body.positions as unknown as Position[];
    return positions.length > 0 && holds(positions);
  });
  return body.positions as unknown as Position[];
}

/** Sends what is due, as announced, once it is. */
async function step(name: string): Promise<void> {
  type Due = { type: string; ticker: string; tx: { to: Hex; data: Hex } };
  const find = (rows: unknown) =>
    (rows as Due[]).find(({ type, ticker }) => `${type} ${ticker}` === name);
  const { body } = await api.until(
    '/v1/cover/payouts',
    (answer) => find(answer.body.payouts) !== undefined,
  );
  const due = find(body.payouts);
  if (due === undefined) throw new Error(`${name} is not due`);
  await sendCall(fork, 'keeper', due.tx.to, due.tx.data);
}

const marketOf = (ticker: string) =>
  fork.client.readContract({
    address: fork.deployment.coverMarket,
    abi: coverMarketAbi,
    functionName: 'marketOf',
    args: [week, fork.vault(ticker)],
  });

const alice = (): Hex => fork.accounts.alice.account.address;

/** What cover pays per dollar for a move, from its definition (protocol.md, Cover). */
const paysFor = (move: number, { fromBps, toBps } = RANGE): number =>
  Math.min(Math.max((-move - fromBps / 10_000) / ((toBps - fromBps) / 10_000), 0), 1);

/** One more weekend in the history, of which each dollar was paid so much. */
function expectOneMore(before: History, after: History, paid: number): void {
  expect(after.weekends).toBe(before.weekends + 1);
  expect(after.paidWeekends).toBe(before.paidWeekends + (paid > 0 ? 1 : 0));
  expect(after.fullWeekends).toBe(before.fullWeekends + (paid === 1 ? 1 : 0));
  const sum = before.fairPer1k * before.weekends + 1_000 * paid;
  expect(after.fairPer1k).toBeCloseTo(sum / after.weekends, 4);
}

async function priceFalls(factor: number): Promise<void> {
  for (const symbol of ['NVDA', 'AAPL', 'MSFT', 'AMZN', 'GOOGL', 'META', 'TSLA']) {
    await fork.pushPrice(symbol, factor);
  }
}

/** Mean of the NAVs at the ends of the ten minutes before a time, from the candles that the api shows. */
async function averageBefore(ticker: string, time: number): Promise<number> {
  const answer = await api.get(`/v1/nav/${ticker}/history?res=1m&days=6`);
  expectOk(answer);
  const candles = answer.body.candles as unknown as Candle[];
  const last = candles.filter(({ t }) => t >= time - 600 && t < time);
  expect(last).toHaveLength(10);
  return last.reduce((sum, { c }) => sum + c, 0) / last.length;
}

test('a weekend is told by the NAV history as soon as it is over, and by the snapshots once they are recorded', async () => {
  const before = await historyOf('MAG7');
  const others = await historyOf('ADS');
  await takeCover(fork, fork.vault('MAG7'));
  await warpTo(close + 1);
  await step('snapshot MAG7');
  expect((await positionsOf(alice()))[0]).toMatchObject({ move: null, paid: false, paidOut: 0 });
  await warpTo(settle - 2 * HOUR);
  await priceFalls(0.95);
  await warpTo(settle + 1);
  await api.settled();

  // The close is recorded; of the settlement the candles tell.
  const { closeNav } = await marketOf('MAG7');
  const byCandles = (await averageBefore('MAG7', settle)) / (Number(closeNav) / 1e18) - 1;
  expect(byCandles).toBeLessThan(-0.03);
  expectOneMore(before, await historyOf('MAG7'), paysFor(byCandles));
  // Nobody bought cover of ADS: its weekend counts all the same.
  const adsMove = (await averageBefore('ADS', settle)) / (await averageBefore('ADS', close)) - 1;
  expectOneMore(others, await historyOf('ADS'), paysFor(adsMove));

  await step('settle MAG7');
  const { settleNav } = await marketOf('MAG7');
  const move = Number(settleNav) / Number(closeNav) - 1;
  // Not the candles' to the last digit: pools remember ticks.
  expect(byCandles).not.toBe(move);
  const settled = await positionsOf(alice(), ([row]) => row?.settleNav !== null);
  for (const position of settled) {
    expect(position.move).toBeCloseTo(move, 7);
    expect(position.closeNav).toBeCloseTo(Number(closeNav) / 1e18, 4);
    expect(position.settleNav).toBeCloseTo(Number(settleNav) / 1e18, 4);
    expect(position).toMatchObject({ paid: false, paidOut: 0 });
  }
  expectOneMore(before, await historyOf('MAG7'), paysFor(move));

  const had = await usdgOf(fork, alice());
  await step('payout MAG7');
  const paid = await positionsOf(alice(), (rows) => rows.every((row) => row.paid));
  for (const { coverUsd, paidOut } of paid)
    expect(paidOut).toBeCloseTo(coverUsd * paysFor(move), 4);
  const sum = paid.reduce((total, { paidOut }) => total + paidOut, 0);
  expect(Number((await usdgOf(fork, alice())) - had) / 1e6).toBeCloseTo(sum, 5);
  const [sold] = await positionsOf(fork.accounts.frank.account.address);
  expect(sold?.paidOut).toBeCloseTo(200 - 200 * paysFor(move) + (sold?.premium ?? 0), 4);
  // A day on it is told from what is kept.
  await warpTo(settle + 24 * HOUR);
  await api.settled();
  expectOneMore(before, await historyOf('MAG7'), paysFor(move));
});

test('a weekend whose snapshot was missed is void: everything goes back, and a request is taken back late', async () => {
  const agent: Agent = await coverAgent(fork, 'MAG7');
  const parties = { owner: alice(), key: agent.key.address };
  const cover = (body: object) => api.post('/v1/agent/cover', { ...parties, ...body });
  const terms = { ticker: 'MAG7', ...RANGE, coverUsd: 100 };
  const take = { action: 'take', ...terms, week };
  for (const body of [take, { action: 'request', ...terms, pricePer1k: 10 }]) {
    const answer = await cover(body);
    expectOk(answer);
    const receipt = await execute(fork, agent, answer.body as unknown as CoverPlanBody);
    expect(receipt.status).toBe('success');
  }
  const before = await historyOf('MAG7');

  await warpTo(close + HOUR);
  await api.until('/v1/cover/weeks', ({ body }) => body.current === week + 1);
  // Void is what the market says, once somebody has told it so.
  const [waiting] = await positionsOf(agent.account, (rows) => rows.length === 1);
  expect(waiting).toMatchObject({ role: 'buyer', move: null, paid: false, paidOut: 0 });
  await step('void MAG7');
  const isVoid = ([row]: Position[]) => row?.move === 'void';
  expect((await positionsOf(agent.account, isVoid))[0]).toMatchObject({
    closeNav: null,
    settleNav: null,
    paid: false,
    paidOut: 0,
  });
  expectError(await api.get(`/v1/cover/book/MAG7?week=${week}`), 422, 'COVER_CLOSED');
  expectError(await cover(take), 422, 'COVER_CLOSED');

  const had = await usdgOf(fork, agent.account);
  await step('payout MAG7');
  const [refunded] = await positionsOf(agent.account, ([row]) => row?.paid === true);
  expect(refunded).toMatchObject({ move: 'void', premium: 0.59, fees: 0.0059, paidOut: 0.5959 });
  expect((await usdgOf(fork, agent.account)) - had).toBe(595_900n);
  const [sold] = await positionsOf(fork.accounts.frank.account.address);
  expect(sold).toMatchObject({ role: 'underwriter', move: 'void', paid: true, paidOut: 100 });

  // The week is gone and its request is still open.
  const { body } = await api.get(`/v1/cover/positions/${agent.account}`);
  const [listing] = body.listings as unknown as [{ id: string; week: number; openUsd: number }];
  expect(listing).toMatchObject({ week, openUsd: 100 });
  const cancel = await cover({ action: 'cancel', listingId: listing.id });
  expectOk(cancel);
  await execute(fork, agent, cancel.body as unknown as CoverPlanBody);
  expect((await usdgOf(fork, agent.account)) - had).toBe(595_900n + 1_000_000n);
  await api.until(
    `/v1/cover/positions/${agent.account}`,
    (answer) => (answer.body.listings as unknown as unknown[]).length === 0,
  );

  // The weekend was lived through, whoever missed it.
  await warpTo(settle + 1);
  await api.settled();
  expect((await historyOf('MAG7')).weekends).toBe(before.weekends + 1);
});

const newYork = (time: number): string =>
  new Date(time * 1_000).toLocaleString('en-US', {
    timeZone: 'America/New_York',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });

test('weeks on both sides of a change of the clocks close on Friday at 16:00 and settle on Monday at 10:00 in New York', async () => {
  const { client, deployment, accounts } = fork;
  const market = { address: deployment.coverMarket, abi: coverMarketAbi } as const;
  const changes = coverWeeks(close, 40).find((next) => (next.settle - next.close) / HOUR !== 66);
  if (changes === undefined) throw new Error('no change of the clocks within 40 weeks');
  // The calendar reaches half a year: more of it is published as it comes nearer.
  for (;;) {
    const published = await client.readContract({ ...market, functionName: 'publishedWeeks' });
    const last = published.at(-1) ?? 0;
    if (last > changes.id) break;
    await warpTo((last - 20) * 7 * 86_400);
    const more = coverWeeks((last + 1) * 7 * 86_400, 7);
    const owner = await client.readContract({ ...market, functionName: 'owner' });
    expect(owner).toBe(accounts.deployer.account.address);
    await write(client, accounts.deployer.account, {
      ...market,
      functionName: 'publishWeeks',
      args: [more.map((next) => ({ close: next.close, settle: next.settle }))],
    });
  }
  const cutoff = changes.close - 7 * 86_400 - HOUR;
  await warpTo(cutoff - 60);
  const { body } = await api.until(
    '/v1/cover/weeks',
    (answer) => answer.body.current === changes.id - 1,
  );
  const shown = body.weeks as unknown as Week[];
  expect(shown.map(({ id }) => id)).toEqual([changes.id - 1, changes.id, changes.id + 1]);
  for (const each of shown) {
    expect([newYork(each.close), newYork(each.settle)]).toEqual(['Fri 16:00', 'Mon 10:00']);
    expect(each.cutoffAt).toBe(each.close - HOUR);
    expect(each.tradingOpen).toBe(true);
  }
  const [ordinary, changing, after] = shown.map((each) => (each.settle - each.close) / HOUR);
  expect([ordinary, after]).toEqual([66, 66]);
  expect([65, 67]).toContain(changing);
  const [first, , third] = shown;
  const shift = ((third?.close ?? 0) - (first?.close ?? 0)) / HOUR - 2 * 168;
  expect(shift).toBe((changing ?? 0) - 66);
  for (const { id } of shown) expectOk(await api.get(`/v1/cover/book/CORE?week=${id}`));
  await warpTo(cutoff);
  expectError(await api.get(`/v1/cover/book/CORE?week=${changes.id - 1}`), 422, 'COVER_CLOSED');
});
