import { afterEach, describe, expect, test, vi } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { useDueOrders } from './due-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { cancelFirst, fillsOf, moveHealth, stateOf } from './orders.ts';
import { launchKeeper, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
const due = useDueOrders(fork);
const proxies: Proxy[] = [];

afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

async function proxied(): Promise<Proxy> {
  const proxy = await startProxy(fork.url);
  proxies.push(proxy);
  return proxy;
}

describe('races', () => {
  test('two keepers, one job: one fill; the loser spends two calls and no gas', async () => {
    const { id, job } = due.first();
    const escrow = fork.deployment.exitEscrow;
    const source = await startJobServer();
    source.jobs([job]);
    const proxy = await proxied();
    const winner = await launchKeeper(fork, [source.url]);
    const loser = await launchKeeper(fork, [source.url], { role: 'dave', rpcUrl: proxy.url });
    const etherBefore = await fork.client.getBalance({ address: loser.executor });
    await winner.tick();
    expect(await winner.settle(10_000)).toBe(true);

    proxy.resetCounts();
    await loser.tick();
    const counts = proxy.counts();
    // Beside these two: the head and the ETH price, once a tick whatever is listed.
    expect(counts.eth_simulateV1).toBe(1);
    expect(counts.eth_estimateGas).toBe(1);
    expect(counts.eth_getBlockByNumber).toBe(1);
    expect(counts.eth_call).toBe(1);
    expect(counts.eth_sendRawTransaction ?? 0).toBe(0);
    await loser.tick();
    expect(proxy.counts().eth_simulateV1).toBe(1);

    expect(await fillsOf(fork, escrow, id)).toHaveLength(1);
    expect(await fork.client.getBalance({ address: loser.executor })).toBe(etherBefore);
    const [timeline] = await loser.journal.timeline(id);
    expect(timeline?.decisions).toMatchObject([{ decision: 'closed' }]);
  });

  test('two keepers at the same moment: one fill', async () => {
    const { id, job } = due.first();
    const escrow = fork.deployment.exitEscrow;
    const source = await startJobServer();
    source.jobs([job]);
    const keepers = [
      await launchKeeper(fork, [source.url]),
      await launchKeeper(fork, [source.url], { role: 'dave' }),
    ];
    await Promise.all(keepers.map((keeper) => keeper.tick()));
    for (const keeper of keepers) await keeper.settle(10_000);
    expect(await fillsOf(fork, escrow, id)).toHaveLength(1);
  });

  test('where a source tells of a block long after the head that was read, the head is read again, once', async () => {
    const { job } = due.first();
    const source = await startJobServer();
    const proxy = await proxied();
    const tell = async (aheadSeconds: number) =>
      source.asOf(new Date(((await fork.now()) + aheadSeconds) * 1_000).toISOString());
    await tell(0);
    // Looked at in every tick, and never to be sent.
    source.jobs([job]);
    const env = { KEEPER_MIN_PROFIT_USDG: '1000' };
    const keeper = await launchKeeper(fork, [source.url], { rpcUrl: proxy.url, env });
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    const heads = async () => {
      proxy.resetCounts();
      await keeper.tick();
      return proxy.counts().eth_getBlockByNumber ?? 0;
    };
    try {
      await keeper.tick();
      expect(await heads()).toBe(0);
      await fork.warp(120);
      await tell(0);
      expect(await heads()).toBe(1);
      await tell(3_600);
      expect(await heads()).toBe(0);
    } finally {
      clock.mockRestore();
    }
  });

  test('a job polled every tenth of a second while mining takes seconds is one transaction', async () => {
    const { id, job } = due.first();
    const escrow = fork.deployment.exitEscrow;
    const source = await startJobServer();
    source.jobs([job]);
    const keeper = await launchKeeper(fork, [source.url]);
    await fork.client.setAutomine(false);
    try {
      keeper.run();
      const from = source.polls();
      await until('thirty polls have passed', async () => source.polls() >= from + 30);
      const pending = { address: keeper.executor, blockTag: 'pending' as const };
      expect(await fork.client.getTransactionCount(pending)).toBe(1);
      await fork.client.mine({ blocks: 1 });
      await until('it is filled', async () => (await stateOf(fork, escrow, id)) === 2);
      const after = source.polls();
      await until('ten more polls have passed', async () => source.polls() >= after + 10);
      expect(await fork.client.getTransactionCount(pending)).toBe(1);
      const [timeline] = await keeper.journal.timeline(id);
      expect(timeline?.attempts).toHaveLength(1);
    } finally {
      await fork.client.setAutomine(true);
    }
  });

  test('a fill that loses its race inside the block is known as reverted, with its cost, and not tried for ever', async () => {
    const { id, job } = due.first();
    const source = await startJobServer();
    source.jobs([job]);
    const keeper = await launchKeeper(fork, [source.url]);
    await fork.client.setAutomine(false);
    try {
      await keeper.tick();
      // The owner cancels first in the same block.
      await cancelFirst(fork, id);
      await fork.client.mine({ blocks: 1 });
    } finally {
      await fork.client.setAutomine(true);
    }
    keeper.run();
    await until(
      'the job is closed for this keeper',
      async () => {
        const [timeline] = await keeper.journal.timeline(id);
        return timeline?.decisions.at(-1)?.decision === 'closed';
      },
      30_000,
    );
    // The same tick that finds it closed settles what was sent, after that.
    await until('it is in the books', async () => (await keeper.journal.unsettled(1)).length === 0);
    const [timeline] = await keeper.journal.timeline(id);
    expect(timeline?.attempts).toMatchObject([{ outcome: 'reverted', settled: 1, fee_usdg: '0' }]);
    expect(BigInt(timeline?.attempts[0]?.cost_usdg ?? 0)).toBeGreaterThan(0n);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
  });

  test('a job listed before it is due is executed under the same id once it is', async () => {
    const { id, job } = due.first();
    const escrow = fork.deployment.exitEscrow;
    // Back above the stop: the source goes on listing it.
    await moveHealth(fork, 1 / 0.95);
    const source = await startJobServer();
    source.jobs([job]);
    const keeper = await launchKeeper(fork, [source.url]);
    keeper.run();
    await until('it was found not due', async () => {
      const [timeline] = await keeper.journal.timeline(id);
      return timeline?.decisions.some(({ decision }) => decision === 'not_due') === true;
    });
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(0);
    await moveHealth(fork, 0.95);
    await until('it is filled', async () => (await stateOf(fork, escrow, id)) === 2);
    expect(await fillsOf(fork, escrow, id)).toHaveLength(1);
  });
});
