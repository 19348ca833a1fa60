import { afterEach, describe, expect, test } from 'vitest';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { useApi } from '../api/use-api.ts';
import { write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { realJobs, startJobServer, stopJobServers } from './job-server.ts';
import { buyShares, fillsOf, moveHealth, placeStop, referenceNav, stateOf } from './orders.ts';
import { launchKeeper, metricOf, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
const api = useApi(fork);
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

/** A stop of 200 dollars of HEALTH that is due, and the job of it. */
async function dueStop() {
  const shares = await buyShares(fork, api, 'alice', 'HEALTH', 200);
  const id = await placeStop(fork, api, 'alice', 'HEALTH', shares, 0.97);
  await moveHealth(fork, 0.95);
  await api.settled();
  const [job] = await realJobs(api.url);
  if (job === undefined) throw new Error('the api lists no job');
  return { id, job, escrow: fork.deployment.exitEscrow };
}

describe('races', () => {
  test('two keepers, one job: one fill; the loser spends two calls and no gas', async () => {
    const { id, job, escrow } = await dueStop();
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
    const { id, job, escrow } = await dueStop();
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

  test('a job polled every tenth of a second while mining takes seconds is one transaction', async () => {
    const { id, job, escrow } = await dueStop();
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
    const { id, job, escrow } = await dueStop();
    const source = await startJobServer();
    source.jobs([job]);
    const keeper = await launchKeeper(fork, [source.url]);
    await fork.client.setAutomine(false);
    try {
      await keeper.tick();
      // The owner cancels first in the same block.
      await fork.userClient('alice').writeContract({
        address: escrow,
        abi: exitEscrowAbi,
        functionName: 'cancel',
        args: [id],
        gas: 300_000n,
        maxFeePerGas: 100_000_000_000n,
        maxPriorityFeePerGas: 50_000_000_000n,
      });
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
    const [timeline] = await keeper.journal.timeline(id);
    expect(timeline?.attempts).toMatchObject([{ outcome: 'reverted', settled: 1, fee_usdg: null }]);
    expect(BigInt(timeline?.attempts[0]?.cost_usdg ?? 0)).toBeGreaterThan(0n);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
  });

  test('a job listed before it is due is executed under the same id once it is', async () => {
    const { id, job, escrow } = await dueStop();
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

describe('the price auction', () => {
  test('a fill that misses its floor is armed, then filled as the tolerance widens', async () => {
    const shares = await buyShares(fork, api, 'alice', 'HEALTH', 400);
    const id = await placeStop(fork, api, 'alice', 'HEALTH', shares, 0.97);
    const { exitEscrow } = fork.deployment;
    await moveHealth(fork, 0.95);
    // Falling on: spot is now far below the average, and the floor is bound to the higher of the two.
    await moveHealth(fork, 0.97, 0);
    await api.settled();
    const keeper = await launchKeeper(fork, [api.url]);
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    const armedAt = await fork.client.readContract({
      address: exitEscrow,
      abi: exitEscrowAbi,
      functionName: 'armedAt',
      args: [id],
    });
    expect(armedAt).toBeGreaterThan(0);
    expect(await stateOf(fork, exitEscrow, id)).toBe(1);

    keeper.run();
    // The average follows and the tolerance widens: the two meet.
    for (
      let minutes = 0;
      minutes < 20 && (await stateOf(fork, exitEscrow, id)) === 1;
      minutes += 2
    ) {
      await fork.warp(120);
      await api.settled();
      await until('the keeper has looked', async () => {
        const before = keeper.status().lastTickMs ?? 0;
        await until('a tick', async () => (keeper.status().lastTickMs ?? 0) > before);
        return true;
      });
    }
    await until('it is filled', async () => (await stateOf(fork, exitEscrow, id)) === 2, 30_000);
    await until('both are in the journal', async () => {
      const [timeline] = await keeper.journal.timeline(id);
      return timeline?.decisions.at(-1)?.decision === 'filled';
    });
    const [timeline] = await keeper.journal.timeline(id);
    expect(timeline?.attempts.map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ['arm', 'mined'],
      ['fill', 'mined'],
    ]);
    const spent = (timeline?.attempts ?? []).reduce(
      (sum, { cost_usdg }) => sum + BigInt(cost_usdg ?? 0),
      0n,
    );
    expect(BigInt(timeline?.attempts[1]?.fee_usdg ?? 0)).toBeGreaterThan(spent);
    expect(await metricOf(keeper, 'decisions_total', 'armed')).toBe(1);
    expect(await referenceNav(fork, 'HEALTH')).toBeGreaterThan(0);
  });
});
