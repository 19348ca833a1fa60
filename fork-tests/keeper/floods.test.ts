/** An api that lists no end of plausible work which does not exist: others are served all the same, and it is dropped. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { decodeFunctionData, encodeFunctionData, type Hex, keccak256, pad, toBytes } from 'viem';
import { afterEach, describe, expect, test } from 'vitest';
import { coverMarketAbi, exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { TIMELINES_A_MINUTE } from '../../keeper/timelines.ts';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { useDueOrders } from './due-orders.ts';
import { type JobServer, startJobServer, stopJobServers, type WireJob } from './job-server.ts';
import { fillsOf } from './orders.ts';
import { type KeeperUnderTest, launchKeeper, metricOf, stopKeepers } from './use-keeper.ts';

const FLOOD = 500;
/** Ids of which a reorg may leave some; those that are under way when the source is dropped come on top. */
const MOST_SIMULATED = 20 + 1 + 4;

const fork = useFork();
const due = useDueOrders(fork, 1, 200);
const proxies: Proxy[] = [];

afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

let made = 0;

/** Fills of orders that nobody ever made, each promising nine dollars. */
function madeUpFills(count = FLOOD): WireJob[] {
  const { job } = due.first();
  const call = decodeFunctionData({ abi: exitEscrowAbi, data: job.tx.data as Hex });
  if (call.functionName !== 'fill') throw new Error('the api lists no fill');
  const [, swaps, executor] = call.args;
  return Array.from({ length: count }, () => {
    made += 1;
    const id = keccak256(toBytes(`made up ${made}`));
    const data = encodeFunctionData({
      abi: exitEscrowAbi,
      functionName: 'fill',
      args: [id, swaps, executor],
    });
    return { ...job, id, feeUsdg: '9000000', armData: '0x', tx: { ...job.tx, data } };
  });
}

/** Snapshots of weeks that nobody ever published. */
function madeUpSteps(): object[] {
  const { coverMarket: contract } = fork.deployment;
  const vault = fork.vault('CORE');
  return Array.from({ length: FLOOD }, () => {
    made += 1;
    const week = 100_000 + made;
    const data = encodeFunctionData({
      abi: coverMarketAbi,
      functionName: 'snapshot',
      args: [week, vault, pad('0x', { size: 20 })],
    });
    const id = ((BigInt(week) << 160n) | BigInt(vault)).toString();
    const tx = { to: contract, data, value: '0' };
    return { type: 'snapshot', contract, id, ticker: 'CORE', vault, week, feeUsdg: '900000', tx };
  });
}

/** Payouts of positions that nobody ever bought. */
function madeUpPayouts(): object[] {
  const { coverMarket: contract } = fork.deployment;
  const vault = fork.vault('CORE');
  return Array.from({ length: FLOOD }, () => {
    made += 1;
    const position = 10n ** 9n + BigInt(made);
    const data = encodeFunctionData({
      abi: coverMarketAbi,
      functionName: 'payout',
      args: [[position], pad('0x', { size: 20 })],
    });
    const tx = { to: contract, data, value: '0' };
    const id = position.toString();
    return { type: 'payout', contract, id, ticker: 'CORE', vault, week: 1, feeUsdg: '0', tx };
  });
}

type Sides = { liar: JobServer; keeper: KeeperUnderTest; proxy: Proxy };

async function bothSides(): Promise<Sides> {
  const liar = await startJobServer();
  const honest = await startJobServer();
  honest.jobs([due.first().job]);
  const proxy = await startProxy(fork.url);
  proxies.push(proxy);
  const keeper = await launchKeeper(fork, [liar.url, honest.url], { rpcUrl: proxy.url });
  return { liar, keeper, proxy };
}

async function expectServedAndDropped({ keeper, proxy }: Sides): Promise<void> {
  proxy.resetCounts();
  await keeper.tick();
  expect(await keeper.settle(10_000)).toBe(true);
  expect(await fillsOf(fork, fork.deployment.exitEscrow, due.first().id)).toHaveLength(1);
  expect(await metricOf(keeper, 'sources_dropped_total')).toBe(1);
  // One more, of the honest job.
  expect(proxy.counts().eth_simulateV1).toBeLessThanOrEqual(MOST_SIMULATED + 1);
}

describe('500 listings of what does not exist, first in the list of sources', () => {
  const chainTime = async () => new Date((await fork.now()) * 1_000).toISOString();

  test.each<[string, () => object[], () => object[]]>([
    ['fills', madeUpFills, () => []],
    ['cover steps', () => [], madeUpSteps],
    ['payouts', () => [], madeUpPayouts],
  ])('%s', async (_, jobs, payouts) => {
    const sides = await bothSides();
    sides.liar.asOf(await chainTime());
    sides.liar.jobs(jobs());
    sides.liar.payouts(payouts());
    await expectServedAndDropped(sides);
  });

  test('as of a block that is still to come: it costs so many looks a tick, and the journal stays small', async () => {
    const sides = await bothSides();
    const { liar, keeper, proxy } = sides;
    const size = () =>
      ['', '-wal'].reduce(
        (sum, end) => sum + statSync(join(keeper.folder, `keeper.sqlite${end}`)).size,
        0,
      );
    liar.asOf(new Date((await fork.now()) * 1_000 + 3_600_000).toISOString());
    proxy.resetCounts();
    const before = size();
    const ticks = 3;
    for (let tick = 0; tick < ticks; tick += 1) {
      liar.jobs(madeUpFills());
      await keeper.tick();
    }
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await fillsOf(fork, fork.deployment.exitEscrow, due.first().id)).toHaveLength(1);
    expect(proxy.counts().eth_simulateV1).toBeLessThanOrEqual(ticks * (50 + 4) + 1);
    const told = await keeper.journal.since(0);
    const honest = told.filter(({ job_key: key }) => key.endsWith(due.first().id));
    expect(told.length - honest.length).toBe(TIMELINES_A_MINUTE);
    expect(await metricOf(keeper, 'timelines_left_out_total')).toBeGreaterThan(50);
    expect(size() - before).toBeLessThan(1_000_000);
  });
});
