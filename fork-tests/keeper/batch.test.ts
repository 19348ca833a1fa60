/** Several fills in one transaction: cheaper, each with its own fate, and every base unit and wei accounted for. */
import type { Address, Hex } from 'viem';
import { afterEach, expect, test } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { startProxy } from '../proxy/proxy.ts';
import { useDueOrders } from './due-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { balanceOf, cancelFirst, fillsOf } from './orders.ts';
import { type KeeperUnderTest, launchKeeper, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
const due = useDueOrders(fork, 4);

afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
});

async function balances(keeper: KeeperUnderTest) {
  const { executor: address } = keeper;
  return {
    usdg: await balanceOf(fork, fork.deployment.usdg, address),
    wei: await fork.client.getBalance({ address }),
  };
}

/** Every attempt of the orders, once all are settled. */
async function settled(keeper: KeeperUnderTest) {
  await until('everything is settled', async () => {
    await keeper.tick();
    return (await keeper.journal.unsettled(10)).length === 0;
  });
  const timelines = await Promise.all(due.ids.map((id) => keeper.journal.timeline(id)));
  return timelines.flat().flatMap(({ attempts }) => attempts);
}

const sum = (values: readonly (string | null)[]): bigint =>
  values.reduce((total, value) => total + BigInt(value ?? 0), 0n);

test('four due orders are one transaction, for less gas than four', async () => {
  const { exitEscrow } = fork.deployment;
  const source = await startJobServer();
  source.jobs(due.jobs);
  const keeper = await launchKeeper(fork, [source.url]);
  const before = await balances(keeper);
  let apart = 0n;
  for (const { tx } of due.jobs) {
    apart += await fork.client.estimateGas({
      account: keeper.executor,
      to: tx.to as Address,
      data: tx.data as Hex,
    });
  }
  await keeper.tick();
  expect(await keeper.settle(10_000)).toBe(true);
  const attempts = await settled(keeper);

  expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
  for (const id of due.ids) expect(await fillsOf(fork, exitEscrow, id)).toHaveLength(1);
  const after = await balances(keeper);
  expect(attempts.map(({ outcome }) => outcome)).toEqual(due.ids.map(() => 'mined'));
  expect(sum(attempts.map(({ fee_usdg }) => fee_usdg))).toBe(after.usdg - before.usdg);
  const [{ gas_price_wei: price } = { gas_price_wei: null }] = attempts;
  expect(sum(attempts.map(({ gas_used }) => gas_used)) * BigInt(price ?? 0)).toBe(
    before.wei - after.wei,
  );

  expect(sum(attempts.map(({ gas_used }) => gas_used))).toBeLessThan(apart);
});

test('an order that its owner cancels first sinks nobody: the others are filled, and it is known as reverted', async () => {
  const { exitEscrow } = fork.deployment;
  const source = await startJobServer();
  source.jobs(due.jobs);
  const keeper = await launchKeeper(fork, [source.url]);
  const before = await balances(keeper);
  const [, cancelled = '0x'] = due.ids;
  await fork.client.setAutomine(false);
  try {
    await keeper.tick();
    await cancelFirst(fork, cancelled);
    await fork.client.mine({ blocks: 1 });
  } finally {
    await fork.client.setAutomine(true);
  }
  const attempts = await settled(keeper);
  const after = await balances(keeper);
  expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
  for (const id of due.ids) {
    expect(await fillsOf(fork, exitEscrow, id)).toHaveLength(id === cancelled ? 0 : 1);
  }
  const fates = attempts.map(({ job_key, outcome }) => [job_key.endsWith(cancelled), outcome]);
  expect(fates).toEqual(
    due.ids.map((id) => [id === cancelled, id === cancelled ? 'reverted' : 'mined']),
  );
  expect(sum(attempts.map(({ fee_usdg }) => fee_usdg))).toBe(after.usdg - before.usdg);
  const [{ gas_price_wei: price } = { gas_price_wei: null }] = attempts;
  expect(sum(attempts.map(({ gas_used }) => gas_used)) * BigInt(price ?? 0)).toBe(
    before.wei - after.wei,
  );
});

test('are simulated one behind another, in three questions where an estimate is wanted first', async () => {
  const { exitEscrow } = fork.deployment;
  const source = await startJobServer();
  source.jobs(due.jobs);
  const proxy = await startProxy(fork.url);
  try {
    const keeper = await launchKeeper(fork, [source.url], { rpcUrl: proxy.url });
    const before = await balances(keeper);
    proxy.resetCounts();
    await keeper.tick();
    const attempts = await settled(keeper);
    const { eth_simulateV1, eth_estimateGas, eth_sendRawTransaction } = proxy.counts();
    // The first by itself, the others behind each other, and all of them as a batch.
    expect({ eth_simulateV1, eth_estimateGas, eth_sendRawTransaction }).toEqual({
      eth_simulateV1: 3,
      eth_estimateGas: 1,
      eth_sendRawTransaction: 1,
    });
    for (const id of due.ids) expect(await fillsOf(fork, exitEscrow, id)).toHaveLength(1);
    const after = await balances(keeper);
    expect(sum(attempts.map(({ fee_usdg }) => fee_usdg))).toBe(after.usdg - before.usdg);
  } finally {
    await proxy.stop();
  }
});

test.for(['1', '8'])(
  '%s orders alike at once share one gas estimate, and each goes out with gas to spare',
  async (together) => {
    const { exitEscrow } = fork.deployment;
    const source = await startJobServer();
    source.jobs(due.jobs);
    const proxy = await startProxy(fork.url);
    try {
      const keeper = await launchKeeper(fork, [source.url], {
        rpcUrl: proxy.url,
        env: { KEEPER_BATCH_MAX: '1', KEEPER_CONCURRENCY: together },
      });
      proxy.resetCounts();
      await keeper.tick();
      expect(await keeper.settle(10_000)).toBe(true);
      const { eth_simulateV1, eth_estimateGas, eth_sendRawTransaction } = proxy.counts();
      expect({ eth_simulateV1, eth_estimateGas, eth_sendRawTransaction }).toEqual({
        eth_simulateV1: due.ids.length,
        eth_estimateGas: 1,
        eth_sendRawTransaction: due.ids.length,
      });
      for (const id of due.ids) {
        const [fill] = await fillsOf(fork, exitEscrow, id);
        const hash = fill?.transactionHash ?? '0x';
        const { gas } = await fork.client.getTransaction({ hash });
        const { gasUsed } = await fork.client.getTransactionReceipt({ hash });
        // SENDER_GAS_HEADROOM_PERCENT is 50; the next fill may need a little more than the one before.
        expect(Number(gas) / Number(gasUsed)).toBeGreaterThan(1.3);
      }
    } finally {
      await proxy.stop();
    }
  },
);
