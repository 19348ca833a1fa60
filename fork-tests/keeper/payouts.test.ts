/** Payouts that overlap: no listing holds up another one, and no two that are sent pay the same position. */
import { encodeFunctionData, pad, parseEventLogs } from 'viem';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { takeCover } from './chain-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import {
  type KeeperUnderTest,
  launchKeeper,
  restartKeeper,
  stopKeepers,
  until,
} from './use-keeper.ts';

const fork = useFork();
const TICKER = 'CORE';
const NOBODY = pad('0x', { size: 20 });
/** No such position was ever sold. */
const MADE_UP = 10n ** 12n;

const proxies: Proxy[] = [];

const market = () => ({ address: fork.deployment.coverMarket, abi: coverMarketAbi }) as const;

let week = 0;
let positions: readonly bigint[] = [];

/** Positions of a week that is settled, and nobody paid yet. */
beforeEach(async () => {
  const vault = fork.vault(TICKER);
  const before = await fork.client.readContract({ ...market(), functionName: 'positionCount' });
  const taken = await takeCover(fork, vault);
  week = taken.week;
  const { account } = fork.accounts.bob;
  const step = (functionName: 'snapshot' | 'settle') =>
    write(fork.client, account, { ...market(), functionName, args: [week, vault, NOBODY] });
  await fork.warp(taken.close - (await fork.now()));
  await step('snapshot');
  await fork.warp(taken.settle - (await fork.now()));
  await step('settle');
  const after = await fork.client.readContract({ ...market(), functionName: 'positionCount' });
  positions = Array.from({ length: Number(after - before) }, (_, at) => before + 1n + BigInt(at));
  if (positions.length < 2) throw new Error(`too few positions: ${positions.length}`);
});

afterEach(async () => {
  await fork.client.setAutomine(true);
  await stopKeepers();
  await stopJobServers();
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

const listed = (ids: readonly bigint[], feeUsdg = '0') => ({
  type: 'payout',
  contract: fork.deployment.coverMarket,
  id: String(ids[0]),
  ticker: TICKER,
  vault: fork.vault(TICKER),
  week,
  feeUsdg,
  tx: {
    to: fork.deployment.coverMarket,
    data: encodeFunctionData({
      abi: coverMarketAbi,
      functionName: 'payout',
      args: [ids, NOBODY],
    }),
    value: '0',
  },
});

const paid = async (): Promise<bigint[]> =>
  parseEventLogs({
    abi: coverMarketAbi,
    eventName: 'PaidOut',
    logs: await fork.client.getLogs({
      address: fork.deployment.coverMarket,
      fromBlock: BigInt(fork.deployment.startBlock),
    }),
  })
    .map(({ args }) => args.positionId)
    .filter((id) => positions.includes(id));

const sentBy = async ({ executor }: KeeperUnderTest) =>
  fork.client.getTransactionCount({ address: executor, blockTag: 'pending' });

async function sources(...lists: object[][]): Promise<string[]> {
  const urls: string[] = [];
  for (const list of lists) {
    const source = await startJobServer();
    source.payouts(list);
    urls.push(source.url);
  }
  return urls;
}

describe('a payout that is listed first and never sent', () => {
  test.each<[string, () => object]>([
    [
      'since it pays less than it promises, under a position of its own',
      () => listed([MADE_UP, ...positions], '9000000'),
    ],
    [
      'since it pays less than it promises, under the same first position',
      () => listed([...positions, MADE_UP], '9000000'),
    ],
  ])('%s, keeps nobody from paying its positions', async (_, bent) => {
    const urls = await sources([bent()], [listed(positions)]);
    const keeper = await launchKeeper(fork, urls);
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await paid()).toEqual(positions);
    expect(await sentBy(keeper)).toBe(1);
  });
});

describe('payouts that overlap', () => {
  test('are not sent beside each other, nor while the one that was is under way or a moment old', async () => {
    const turned = positions.toReversed();
    const urls = await sources([listed(positions)], [listed(turned)]);
    const keeper = await launchKeeper(fork, urls);
    await fork.client.setAutomine(false);
    await keeper.tick();
    expect(await sentBy(keeper)).toBe(1);
    await keeper.tick();
    expect(await sentBy(keeper)).toBe(1);
    await fork.client.setAutomine(true);
    await fork.client.mine({ blocks: 1 });
    expect(await keeper.settle(10_000)).toBe(true);
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await sentBy(keeper)).toBe(1);
    expect((await paid()).toSorted((a, b) => Number(a - b))).toEqual(positions);
  });

  test('of which one costs less for the same are resolved for that one, whoever lists it first', async () => {
    const padding = Array.from({ length: 90 }, (_, at) => MADE_UP + BigInt(at));
    const urls = await sources(
      [listed([...positions, ...padding])],
      [listed(positions.toReversed())],
    );
    const keeper = await launchKeeper(fork, urls);
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await paid()).toEqual(positions.toReversed());
    expect(await sentBy(keeper)).toBe(1);
  });
});

describe('payouts whose broadcast the node never answers', () => {
  /** A keeper behind such a node, for which each position is a payout of its own. */
  async function behindHangingNode(): Promise<{ keeper: KeeperUnderTest; proxy: Proxy }> {
    const proxy = await startProxy(fork.url);
    proxies.push(proxy);
    proxy.on('eth_sendRawTransaction', {}, { fault: 'hang' });
    const urls = await sources(positions.map((position) => listed([position])));
    const settings = { rpcUrl: proxy.url, env: { RPC_TIMEOUT_MS: '2000' } };
    return { keeper: await launchKeeper(fork, urls, settings), proxy };
  }

  test('keep a tick for one of them, and all are paid once it answers', async () => {
    const { keeper, proxy } = await behindHangingNode();
    await keeper.tick();
    expect(await keeper.journal.unsettled(200)).toHaveLength(1);
    // The rest waits, so that what else is due is not held up again.
    await keeper.tick();
    expect(await keeper.journal.unsettled(200)).toHaveLength(1);
    proxy.clear();
    keeper.run();
    await until('all are paid', async () => (await paid()).length === positions.length, 40_000);
    expect((await paid()).toSorted((a, b) => Number(a - b))).toEqual(positions);
    expect(await sentBy(keeper)).toBe(positions.length);
  });

  test('are left to the next process once the keeper is told to stop', async () => {
    const { keeper, proxy } = await behindHangingNode();
    keeper.run();
    await until('one is being sent', async () => (proxy.counts().eth_sendRawTransaction ?? 0) > 0);
    await keeper.stop();
    proxy.clear();
    const next = await restartKeeper(keeper);
    expect(await next.journal.unsettled(200)).toHaveLength(1);
    next.run();
    await until('all are paid', async () => (await paid()).length === positions.length, 40_000);
    expect(await sentBy(next)).toBe(positions.length);
  });
});
