import { afterEach, expect, test } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { useDueOrders } from './due-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { fillsOf } from './orders.ts';
import { launchKeeper, stopKeepers } from './use-keeper.ts';

const fork = useFork();
const due = useDueOrders(fork, 8);
let proxy: Proxy;

afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
  await proxy.stop();
});

test('orders that the node does not answer for hold up none of those beside them', async () => {
  proxy = await startProxy(fork.url);
  const source = await startJobServer();
  const byFee = due.jobs.toSorted((a, b) => Number(BigInt(b.feeUsdg) - BigInt(a.feeUsdg)));
  source.jobs(byFee);
  const hanging = byFee.filter((_, index) => index % 2 === 0).map(({ id }) => id.slice(2));
  const sound = byFee.filter((_, index) => index % 2 === 1);
  const isHanging = (params: unknown[]): boolean =>
    hanging.some((id) => JSON.stringify(params).includes(id));
  for (const method of ['eth_simulateV1', 'eth_call', 'eth_estimateGas']) {
    proxy.on(method, { where: isHanging }, { fault: 'drop', forwarded: false });
  }
  const keeper = await launchKeeper(fork, [source.url], {
    rpcUrl: proxy.url,
    env: { KEEPER_BATCH_MAX: '2', KEEPER_CONCURRENCY: '1' },
  });
  await keeper.tick();
  expect(await keeper.settle(10_000)).toBe(true);
  for (const { id } of sound) {
    expect(await fillsOf(fork, fork.deployment.exitEscrow, id as `0x${string}`)).toHaveLength(1);
  }
});
