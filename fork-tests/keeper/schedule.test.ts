/** A schedule through the real api: each slot is filled once, when it is due, and never before. */
import { type Hex, parseEventLogs } from 'viem';
import { afterEach, expect, test } from 'vitest';
import { scheduleEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { planOf, sendPlan } from '../api/send-plan.ts';
import { useApi } from '../api/use-api.ts';
import { writeFromOutside } from '../harness/outside.ts';
import { useFork } from '../harness/fork.ts';
import { startProxy } from '../proxy/proxy.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { balanceOf, fillsOf } from './orders.ts';
import { type KeeperUnderTest, launchKeeper, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
const api = useApi(fork);
const HOUR = 3_600;

afterEach(stopKeepers);

async function createSchedule(buys: number): Promise<Hex> {
  const plan = planOf(
    await api.post('/v1/tx/schedule', {
      ticker: 'CORE',
      address: fork.accounts.alice.account.address,
      amountUsdg: 50,
      buys,
      everyHours: 1,
    }),
  );
  const { logs } = await sendPlan(fork, 'alice', plan);
  const [created] = parseEventLogs({
    abi: scheduleEscrowAbi,
    eventName: 'ScheduleCreated',
    logs,
  });
  if (created === undefined) throw new Error('no ScheduleCreated');
  return created.args.id;
}

const fills = (id: Hex) => fillsOf(fork, fork.deployment.scheduleEscrow, id);
const listed = async (count: number) => {
  await api.until('/v1/jobs', ({ body }) => (body.jobs as unknown[] | undefined)?.length === count);
};

/** One look of the keeper, with all that it sent settled. */
async function look(keeper: KeeperUnderTest): Promise<void> {
  await keeper.tick();
  expect(await keeper.settle(10_000)).toBe(true);
}

/** The keeper's own clock does not follow when the chain is warped: what it noted of the last fill is set back. */
async function letTheEchoPass(keeper: KeeperUnderTest, id: Hex): Promise<void> {
  await until('nothing changes in the journal any more', async () => {
    await keeper.tick();
    return (await keeper.journal.unsettled(10)).length === 0;
  });
  const changes = await writeFromOutside(
    keeper.env.DATABASE_URL?.slice('file:'.length) ?? '',
    `UPDATE keeper_attempts SET updated_ms = updated_ms - 3600000 WHERE job_key LIKE '%:${id}'`,
  );
  expect(changes).toBeGreaterThan(0);
}

test('two slots are two fills, the second only when it is due; a third look fills nothing', async () => {
  const { usdg } = fork.deployment;
  const id = await createSchedule(2);
  await listed(1);
  const keeper = await launchKeeper(fork, [api.url]);
  const before = await balanceOf(fork, usdg, keeper.executor);
  await look(keeper);
  expect(await fills(id)).toHaveLength(1);

  // Listed for another moment by a replica, say: the keeper takes its own receipt for the truth.
  await listed(0);
  await letTheEchoPass(keeper, id);
  await fork.warp(HOUR / 2);
  await api.marksSettled();
  await look(keeper);
  expect(await fills(id)).toHaveLength(1);

  await fork.warp(HOUR / 2);
  await listed(1);
  await until('the second slot is filled', async () => {
    await look(keeper);
    return (await fills(id)).length === 2;
  });
  await letTheEchoPass(keeper, id);
  await fork.warp(HOUR);
  await api.marksSettled();
  await look(keeper);
  const both = await fills(id);
  expect(both.map(({ args }) => args.executor)).toEqual([keeper.executor, keeper.executor]);
  const fees = both.reduce((sum, { args }) => sum + args.executorFee, 0n);
  expect((await balanceOf(fork, usdg, keeper.executor)) - before).toBe(fees);
  const [timeline] = await keeper.journal.timeline(id);
  expect(
    timeline?.attempts.map(({ work_type, outcome, fee_usdg }) => [work_type, outcome, fee_usdg]),
  ).toEqual(both.map(({ args }) => ['schedule', 'mined', String(args.executorFee)]));
  expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(2);
});

test('a replica that lists a filled slot for longer gets no second transaction, nor a second slot early', async () => {
  const id = await createSchedule(2);
  await listed(1);
  const { text } = await api.get('/v1/jobs');
  const replica = await startJobServer();
  const proxy = await startProxy(fork.url);
  try {
    replica.answer(200, text);
    const keeper = await launchKeeper(fork, [replica.url], { rpcUrl: proxy.url });
    await look(keeper);
    expect(await fills(id)).toHaveLength(1);
    // Even once the echo has passed: the slot that comes is not due, and simulation says so.
    replica.jobs([]);
    await letTheEchoPass(keeper, id);
    replica.answer(200, text);
    await until('it looked again and found it not due', async () => {
      await keeper.tick();
      const [timeline] = await keeper.journal.timeline(id);
      return timeline?.decisions.at(-1)?.decision === 'not_due';
    });
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
    expect(proxy.counts().eth_sendRawTransaction).toBe(1);
  } finally {
    await proxy.stop();
    await stopJobServers();
  }
});
