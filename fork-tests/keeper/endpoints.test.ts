/** A keeper with several RPC endpoints, of which the first is the bad one. */
import type { Hex } from 'viem';
import { afterEach, expect, test } from 'vitest';
import { rpc, startAnvil } from '../anvil.ts';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { useDueOrders } from './due-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { stateOf } from './orders.ts';
import { type KeeperUnderTest, launchKeeper, stopKeepers, until } from './use-keeper.ts';

/** Of an order escrow. */
const FILLED = 2;

const fork = useFork();
const due = useDueOrders(fork, 1, 200);
const proxies: Proxy[] = [];

afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

const isFilled = async (id: Hex): Promise<boolean> =>
  (await stateOf(fork, fork.deployment.exitEscrow, id)) === FILLED;

const readyText = async ({ url }: KeeperUnderTest): Promise<string> =>
  await (await fetch(`${url}/ready`)).text();

/** Two endpoints, the proxy first. */
async function launch(env: Record<string, string> = {}) {
  const proxy = await startProxy(fork.url);
  proxies.push(proxy);
  const source = await startJobServer();
  source.jobs([]);
  const rpcUrl = `${proxy.url},${fork.url}`;
  const keeper = await launchKeeper(fork, [source.url], { rpcUrl, env });
  await keeper.tick();
  return { proxy, source, keeper };
}

test('the first of two endpoints hangs: the order is filled through the second, and the keeper stays ready', async () => {
  const { proxy, source, keeper } = await launch({ RPC_TIMEOUT_MS: '2000' });
  proxy.on('*', {}, { fault: 'hang' });
  source.jobs([due.first().job]);
  await until('the order is filled', async () => {
    await keeper.tick();
    return await isFilled(due.first().id);
  });
  expect(await keeper.settle(10_000)).toBe(true);
  await keeper.tick();
  expect(JSON.parse(await readyText(keeper))).toMatchObject({ ready: true });
  // It is known now: a tick does not ask it for anything.
  proxy.resetCounts();
  await keeper.tick();
  const { eth_getBlockByNumber, ...others } = proxy.counts();
  expect(others).toEqual({});
  expect(eth_getBlockByNumber ?? 0).toBeLessThanOrEqual(1);
});

test('the first of two endpoints answers from eight blocks ago: the second is read instead', async () => {
  const { proxy, source, keeper } = await launch({ KEEPER_HEAD_MAX_AGE_MS: '3000' });
  // Before the order was due.
  proxy.on('*', {}, { fault: 'stale', blocks: 8 });
  source.jobs([due.first().job]);
  await until('the order is filled', async () => {
    await fork.client.mine({ blocks: 1 });
    await keeper.tick();
    return await isFilled(due.first().id);
  });
  await fork.client.mine({ blocks: 1 });
  await until('the keeper is ready', async () => {
    await keeper.tick();
    return (await readyText(keeper)).includes('"ready":true');
  });
});

test('an endpoint of another chain decides nothing, first or not; without another the start refuses', async () => {
  const other = await startAnvil({ chainId: 1, blockTime: 1, args: ['--number', '1000000'] });
  try {
    const { address } = fork.accounts.keeper.account;
    // Higher, with more transactions, and rich.
    await rpc(other.url, 'anvil_setNonce', [address, '0x12c']);
    await rpc(other.url, 'anvil_setBalance', [address, '0xde0b6b3a7640000']);
    const source = await startJobServer();
    await expect(launchKeeper(fork, [source.url], { rpcUrl: other.url })).rejects.toThrow(
      /serve chain 1, not 4663/,
    );
    source.jobs([due.first().job]);
    const rpcUrl = `${other.url},${fork.url}`;
    const keeper = await launchKeeper(fork, [source.url], { rpcUrl });
    const before = await fork.client.getTransactionCount({ address: keeper.executor });
    await until('the order is filled', async () => {
      await keeper.tick();
      return await isFilled(due.first().id);
    });
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(before + 1);
  } finally {
    await other.stop();
  }
});

test('an endpoint of our chain id and another chain decides nothing and is sent nothing, first or not', async () => {
  const other = await startAnvil({ chainId: 4_663, blockTime: 1, args: ['--number', '1000000'] });
  try {
    const { address } = fork.accounts.keeper.account;
    await rpc(other.url, 'anvil_setNonce', [address, '0x12c']);
    await rpc(other.url, 'anvil_setBalance', [address, '0xde0b6b3a7640000']);
    const between = await startProxy(other.url);
    proxies.push(between);
    const source = await startJobServer();
    await expect(
      launchKeeper(fork, [source.url], { rpcUrl: `${between.url},${other.url}` }),
    ).rejects.toThrow(/no endpoint of RPC_URLS has the contracts of DEPLOYMENT_FILE/);
    source.jobs([due.first().job]);
    between.resetCounts();
    const keeper = await launchKeeper(fork, [source.url], {
      rpcUrl: `${between.url},${fork.url}`,
    });
    const before = await fork.client.getTransactionCount({ address: keeper.executor });
    await until('the order is filled', async () => {
      await keeper.tick();
      return await isFilled(due.first().id);
    });
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(before + 1);
    const { eth_chainId, eth_getCode, ...others } = between.counts();
    expect(others).toEqual({});
    expect([eth_chainId, eth_getCode].every((count = 0) => count > 0)).toBe(true);
  } finally {
    await other.stop();
  }
});
