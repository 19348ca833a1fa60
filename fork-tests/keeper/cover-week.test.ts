/** A whole cover week through the real api and a keeper that nobody looks after: snapshots, settlements, payouts. */
import { type Address, numberToHex, parseEventLogs } from 'viem';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { readCoverMoments } from '../../keeper/housekeeping/cover-times.ts';
import { useApi } from '../api/use-api.ts';
import { useFork } from '../harness/fork.ts';
import { takeCover } from './chain-orders.ts';
import { balanceOf } from './orders.ts';
import {
  type KeeperSettings,
  type KeeperUnderTest,
  launchKeeper,
  metricOf,
  stopKeepers,
  until,
} from './use-keeper.ts';

const fork = useFork();
const api = useApi(fork);
const HOUR = 3_600;
const market = () => ({ address: fork.deployment.coverMarket, abi: coverMarketAbi }) as const;
const alice = (): Address => fork.accounts.alice.account.address;

let week = 0;
let close = 0;
let settle = 0;

beforeEach(async () => {
  [, week] = await fork.client.readContract({ ...market(), functionName: 'currentWeek' });
  const times = await fork.client.readContract({
    ...market(),
    functionName: 'weekOf',
    args: [week],
  });
  ({ close, settle } = times);
});
afterEach(stopKeepers);

const eventsOf = async (
  eventName: 'Listed' | 'SnapshotTaken' | 'WeekSettled' | 'WeekVoided' | 'RewardPaid',
) =>
  parseEventLogs({
    abi: coverMarketAbi,
    eventName,
    logs: await fork.client.getLogs({
      address: fork.deployment.coverMarket,
      fromBlock: BigInt(fork.deployment.startBlock),
    }),
  });

const feePool = () => fork.client.readContract({ ...market(), functionName: 'feePool' });

/** As where nobody funded it: nothing is paid for any step. */
async function emptyFeePool(): Promise<void> {
  await fork.client.setStorageAt({
    address: fork.deployment.coverMarket,
    index: numberToHex(0, { size: 32 }),
    value: numberToHex(0, { size: 32 }),
  });
  expect(await feePool()).toBe(0n);
}

const warpTo = async (time: number) => fork.warp(time - (await fork.now()));

/** The keeper runs by itself; the test only lets time pass and watches the chain. */
async function run(settings: KeeperSettings = {}): Promise<KeeperUnderTest> {
  const keeper = await launchKeeper(fork, [api.url], settings);
  keeper.run();
  return keeper;
}

const count = async (eventName: Parameters<typeof eventsOf>[0]) =>
  (await eventsOf(eventName)).length;

/**
 * Every attempt of the journal that became a transaction, once all that was sent is settled. One that a busy node did
 * not let out comes again under the next number; it cost nothing and earned nothing.
 */
async function settledAttempts(keeper: KeeperUnderTest) {
  await until(
    'the journal is settled',
    async () => (await keeper.journal.unsettled(10)).length === 0,
  );
  const seen = await keeper.journal.since(0);
  const ids = new Set(seen.map(({ job_key }) => job_key.split(':').at(-1) ?? ''));
  const timelines = (await Promise.all([...ids].map((id) => keeper.journal.timeline(id)))).flat();
  const byKey = new Map(timelines.map((timeline) => [timeline.jobKey, timeline]));
  const attempts = [...byKey.values()].flatMap((timeline) => timeline.attempts);
  for (const { tx_hash, outcome, fee_usdg, cost_usdg } of attempts) {
    const booked = { fee: BigInt(fee_usdg ?? 0), cost: BigInt(cost_usdg ?? 0) };
    if (tx_hash === null) expect(booked, outcome ?? '').toEqual({ fee: 0n, cost: 0n });
  }
  return attempts.filter(({ tx_hash }) => tx_hash !== null);
}

describe('a cover week', () => {
  test('that somebody funded is served without a human: every payout arrives, every fee is booked', async () => {
    const { usdg } = fork.deployment;
    for (const ticker of ['MAG7', 'CORE']) await takeCover(fork, fork.vault(ticker));
    await api.settled();
    const keeper = await run();
    const before = await balanceOf(fork, usdg, keeper.executor);
    await warpTo(close - 60);
    await warpTo(close);
    await until('both snapshots are taken', async () => (await count('SnapshotTaken')) === 2);
    for (const symbol of ['NVDA', 'AAPL', 'MSFT', 'AMZN', 'META', 'TSLA']) {
      await fork.pushPrice(symbol, 0.95);
    }
    const ownerBefore = await balanceOf(fork, usdg, alice());
    await warpTo(settle - 60);
    expect(await count('WeekSettled')).toBe(0);
    await warpTo(settle);
    await until('both weeks are settled', async () => (await count('WeekSettled')) === 2);
    await until(
      'nothing is left to do',
      async () => {
        const { body } = await api.get('/v1/cover/payouts');
        return (body.payouts as unknown[] | undefined)?.length === 0;
      },
      40_000,
    );
    expect(await balanceOf(fork, usdg, alice())).toBeGreaterThan(ownerBefore);

    const attempts = await settledAttempts(keeper);
    const types = attempts.map(({ work_type }) => String(work_type)).toSorted();
    expect(types).toEqual(['payout', 'payout', 'settle', 'settle', 'snapshot', 'snapshot']);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(types.map(() => 'mined'));
    const booked = attempts.reduce((sum, { fee_usdg }) => sum + BigInt(fee_usdg ?? 0), 0n);
    expect((await balanceOf(fork, usdg, keeper.executor)) - before).toBe(booked);
    expect(booked).toBeGreaterThan(0n);
  });

  test('whose snapshot was missed is voided, and its refunds paid, as a duty within the budget', async () => {
    await emptyFeePool();
    await takeCover(fork, fork.vault('CORE'));
    await warpTo(close + HOUR);
    await api.settled();
    const ownerBefore = await balanceOf(fork, fork.deployment.usdg, alice());
    const keeper = await run();
    await until('the week is void', async () => (await count('WeekVoided')) === 1);
    await until(
      'the refund arrives',
      async () => (await balanceOf(fork, fork.deployment.usdg, alice())) > ownerBefore,
      40_000,
    );
    const attempts = await settledAttempts(keeper);
    expect(attempts.map(({ work_type }) => String(work_type)).toSorted()).toEqual([
      'payout',
      'void',
    ]);
    const losses = attempts.map(({ duty, fee_usdg, cost_usdg }) => ({
      duty,
      loss: BigInt(cost_usdg ?? 0) - BigInt(fee_usdg ?? 0),
    }));
    // Nobody paid for either: both were duties, and the budget knows of them.
    for (const { duty, loss } of losses) {
      expect(duty).toBe(1);
      expect(loss).toBeGreaterThan(0n);
    }
    const lost = losses.reduce((sum, { loss }) => sum + loss, 0n);
    expect(await keeper.journal.dutyLoss(0)).toBe(lost);
    expect(lost).toBeLessThanOrEqual(1_000_000n);
  });

  test('wakes the keeper at its moments, though half a year of others is published', async () => {
    const published = await fork.client.readContract({
      ...market(),
      functionName: 'publishedWeeks',
    });
    expect(published.filter((id) => id > week).length).toBeGreaterThan(8);
    for (const time of [close - 30, settle - 30]) {
      const moments = await readCoverMoments(
        fork.client,
        fork.deployment.coverMarket,
        5_000,
        time * 1_000,
      );
      expect(moments).toContainEqual({ week, what: 'settle', atMs: settle * 1_000 });
      expect(moments).toContainEqual({ week, what: 'close', atMs: close * 1_000 });
    }
  });

  test('whose duty costs more than the budget is left, and the journal, the readiness and the metrics say so', async () => {
    await emptyFeePool();
    await takeCover(fork, fork.vault('CORE'));
    await warpTo(close + HOUR);
    await api.settled();
    const keeper = await run({ env: { KEEPER_DUTY_BUDGET_USDG: '0.001' } });
    const id = ((BigInt(week) << 160n) | BigInt(fork.vault('CORE'))).toString();
    await until('the duty was judged twice', async () => {
      const [timeline] = await keeper.journal.timeline(id);
      return (timeline?.decisions[0]?.repeats ?? 0) >= 2;
    });
    const [timeline] = await keeper.journal.timeline(id);
    expect(timeline?.decisions).toMatchObject([
      {
        decision: 'over_budget',
        detail: expect.stringMatching(
          /^loses \$0\.\d+, .*budget for duties \$0\.001 is left for a void$/,
        ),
      },
    ]);
    const ready = (await (await fetch(`${keeper.url}/ready`)).json()) as {
      checks: { name: string; ok: boolean; note?: string }[];
    };
    expect(ready.checks.find(({ name }) => name === 'duties')).toEqual({
      name: 'duties',
      ok: true,
      note: expect.stringMatching(
        /^a void that may cost \$0\.\d+ waits: \$0\.001 is left for it of the week's \$0\.001 /,
      ),
    });
    expect(await metricOf(keeper, 'duty_budget_left_usdg')).toBe(0.001);
    expect(await metricOf(keeper, 'duties_over_budget_total')).toBeGreaterThanOrEqual(2);
    expect(await count('WeekVoided')).toBe(0);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(0);
  });
});
