/** The slowest part does not set the pace: what is known is executed while a source or a node is long in answering. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { useDueOrders } from './due-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { fillsOf, stateOf } from './orders.ts';
import { launchKeeper, stopKeepers, until } from './use-keeper.ts';

const FILLED = 2;
/** Longer than any test here: what waits for it never ends. */
const NEVER_MS = '60000';

const fork = useFork();
const due = useDueOrders(fork, 1, 200);
const proxies: Proxy[] = [];
const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  for (const proxy of proxies.splice(0)) await proxy.stop();
  await stopKeepers();
  await stopJobServers();
});

/** Begins an answer and never ends it. */
async function startHangingSource(): Promise<{ url: string; asked: () => number }> {
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"jobs":[');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked: () => asked };
}

async function honestSource(): Promise<string> {
  const source = await startJobServer();
  source.asOf(new Date((await fork.now()) * 1_000).toISOString());
  source.jobs([due.first().job]);
  return source.url;
}

const isFilled = async () =>
  (await stateOf(fork, fork.deployment.exitEscrow, due.first().id)) === FILLED;

describe('a job is executed', () => {
  test('while another source never ends its answer', async () => {
    const hanging = await startHangingSource();
    const keeper = await launchKeeper(fork, [hanging.url, await honestSource()], {
      env: { KEEPER_SOURCE_TIMEOUT_MS: NEVER_MS },
    });
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await isFilled()).toBe(true);
    // Its two lists, asked for once: the next tick does not pile up requests.
    await keeper.tick();
    expect(hanging.asked()).toBe(2);
  });

  test('while the node never gives the logs that own discovery reads on with', async () => {
    const proxy = await startProxy(fork.url);
    proxies.push(proxy);
    const logs = proxy.on('eth_getLogs', {}, { fault: 'hang' });
    const keeper = await launchKeeper(fork, [await honestSource()], {
      rpcUrl: proxy.url,
      env: { KEEPER_DISCOVERY: 'fallback', RPC_TIMEOUT_MS: NEVER_MS },
    });
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await isFilled()).toBe(true);
    await until('the logs were asked for', async () => logs.seen > 0);
  });
});

describe('work that an api and own discovery both list', () => {
  test('is sent once', async () => {
    const keeper = await launchKeeper(fork, [await honestSource()], {
      env: { KEEPER_DISCOVERY: 'always', KEEPER_DISCOVERY_MS: '200' },
    });
    keeper.run();
    await until('it is filled', isFilled);
    expect(await keeper.settle(10_000)).toBe(true);
    await keeper.stop();
    expect(await fillsOf(fork, fork.deployment.exitEscrow, due.first().id)).toHaveLength(1);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
  });
});
