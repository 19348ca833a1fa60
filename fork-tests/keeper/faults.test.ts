import { encodeFunctionData, erc20Abi, type Hex, maxUint256, pad } from 'viem';
import { afterEach, describe, expect, test } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { inPieces, payingTo, revertingSwaps, withData } from './bent-jobs.ts';
import { useDueOrders } from './due-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { fillsOf, stateOf } from './orders.ts';
import { type KeeperUnderTest, launchKeeper, metricOf, stopKeepers, until } from './use-keeper.ts';

const GWEI = 10n ** 9n;
const COUNT = 9;

const fork = useFork();
const due = useDueOrders(fork, COUNT, 40);
const proxies: Proxy[] = [];

afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

const decisionsOf = async (keeper: KeeperUnderTest, id: Hex): Promise<string[]> =>
  (await keeper.journal.timeline(id)).flatMap(({ decisions }) =>
    decisions.map(({ decision }) => decision),
  );

const filledCount = async (): Promise<number> => {
  const fills = await Promise.all(
    due.ids.map((id) => fillsOf(fork, fork.deployment.exitEscrow, id)),
  );
  return fills.flat().length;
};

describe('sources', () => {
  test('one malformed and nine good jobs: nine are executed, one is reported', async () => {
    const source = await startJobServer();
    source.jobs([...due.jobs.slice(0, 4), { ...due.jobs[0], feeUsdg: 12 }, ...due.jobs.slice(4)]);
    const keeper = await launchKeeper(fork, [source.url]);
    await keeper.tick();
    expect(await metricOf(keeper, 'jobs_malformed_total')).toBe(1);
    expect(await keeper.settle(20_000)).toBe(true);
    // Nine sales move the price of two pools: one may need another look.
    await until('all nine are filled', async () => {
      await keeper.tick();
      return (await filledCount()) === COUNT;
    });
    // The chain knows of a fill before the keeper has read its receipt.
    expect(await keeper.settle(20_000)).toBe(true);
    const outcomes = await Promise.all(due.ids.map((id) => decisionsOf(keeper, id)));
    expect(outcomes.map((decisions) => decisions.at(-1))).toEqual(due.ids.map(() => 'executed'));
  });

  test('500, then an empty list, then garbage, then a job: executed on the next tick', async () => {
    const source = await startJobServer();
    const keeper = await launchKeeper(fork, [source.url]);
    for (const [status, body] of [
      [500, '{}'],
      [200, '{"jobs":[]}'],
      [200, '<html>'],
      [200, '{"jobs":{}}'],
    ] as const) {
      source.answer(status, body);
      await keeper.tick();
    }
    source.jobs([due.first().job]);
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await filledCount()).toBe(1);
  });

  test('hostile jobs are refused before any call to the chain, counted and put on record', async () => {
    const { job, id } = due.first();
    const stranger = fork.accounts.bob.account.address;
    const approval = encodeFunctionData({
      abi: erc20Abi,
      functionName: 'approve',
      args: [stranger, maxUint256],
    });
    const hostile = [
      { ...job, contract: stranger, tx: { ...job.tx, to: stranger } },
      { ...job, tx: { ...job.tx, to: fork.deployment.usdg, data: approval } },
      withData(job, approval),
      { ...job, tx: { ...job.tx, value: '1' } },
      payingTo(job, stranger),
      { ...job, id: pad('0x77', { size: 32 }) },
      withData(job, `${job.tx.data as Hex}00`),
      { ...job, armData: approval },
    ];
    const source = await startJobServer();
    source.jobs(hostile);
    const proxy = await startProxy(fork.url);
    proxies.push(proxy);
    const keeper = await launchKeeper(fork, [source.url], { rpcUrl: proxy.url });
    proxy.resetCounts();
    await keeper.tick();
    const { eth_simulateV1, eth_estimateGas, eth_sendRawTransaction } = proxy.counts();
    expect([eth_simulateV1, eth_estimateGas, eth_sendRawTransaction]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(await metricOf(keeper, 'jobs_refused_total')).toBe(hostile.length);
    expect(await metricOf(keeper, 'jobs_refused_total', '"executor"')).toBe(1);
    expect(await decisionsOf(keeper, id)).toContain('refused');

    // The same order told honestly by another source is executed all the same.
    const honest = await startJobServer();
    honest.jobs([job]);
    const second = await launchKeeper(fork, [source.url, honest.url], { role: 'dave' });
    await second.tick();
    expect(await second.settle(10_000)).toBe(true);
    expect(await filledCount()).toBe(1);
  });

  test('a source with bad swaps or false promises does not stand before an honest one', async () => {
    const { job, id } = due.first();
    const liar = await startJobServer();
    liar.jobs([{ ...revertingSwaps(job), feeUsdg: '99000000' }]);
    const boaster = await startJobServer();
    boaster.jobs([{ ...job, feeUsdg: '50000000' }]);
    const honest = await startJobServer();
    honest.jobs([job]);
    const keeper = await launchKeeper(fork, [liar.url, boaster.url, honest.url]);
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await stateOf(fork, fork.deployment.exitEscrow, id)).toBe(2);
  });
});

describe('jobs', () => {
  test('one that reverts in simulation costs no nonce, is quarantined, and returns when its terms change', async () => {
    const { job: bad, id } = due.first();
    const rest = due.jobs.filter((job) => job.id !== id).slice(0, 2);
    const source = await startJobServer();
    source.jobs([revertingSwaps(bad), ...rest]);
    const keeper = await launchKeeper(fork, [source.url]);
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await filledCount()).toBe(2);
    // The two that run go out together.
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
    expect(await decisionsOf(keeper, id)).toEqual(['failed']);
    source.jobs([bad]);
    await until('the good terms are tried after the backoff', async () => {
      await keeper.tick();
      return (await stateOf(fork, fork.deployment.exitEscrow, id)) === 2;
    });
  });

  test.each([
    ['the same source tells a cheap one later', false],
    ['another source tells a cheap one later', true],
  ])('a way that is too dear keeps the job from nobody: %s', async (_, isOther) => {
    const { job, id } = due.first();
    const dear = await startJobServer();
    const cheap = await startJobServer();
    dear.jobs([inPieces(job, 12n)]);
    const keeper = await launchKeeper(fork, [dear.url, cheap.url]);
    await fork.client.setNextBlockBaseFeePerGas({ baseFeePerGas: (6n * GWEI) / 100n });
    await fork.client.mine({ blocks: 1 });
    await keeper.tick();
    expect(await decisionsOf(keeper, id)).toEqual(['does_not_pay']);
    dear.jobs(isOther ? [] : [job]);
    cheap.jobs(isOther ? [job] : []);
    await until('it is filled', async () => {
      await keeper.tick();
      return (await stateOf(fork, fork.deployment.exitEscrow, id)) === 2;
    });
  });

  test('gas above the fee waits and says why; executed when it falls', async () => {
    const { job, id } = due.first();
    const source = await startJobServer();
    source.jobs([job]);
    const keeper = await launchKeeper(fork, [source.url]);
    await fork.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 5n * GWEI });
    await fork.client.mine({ blocks: 1 });
    await keeper.tick();
    expect(await decisionsOf(keeper, id)).toEqual(['does_not_pay']);
    const [timeline] = await keeper.journal.timeline(id);
    expect(timeline?.decisions[0]?.detail).toMatch(/fee \$0\.\d+, needs \$\d/);

    await fork.client.setNextBlockBaseFeePerGas({ baseFeePerGas: GWEI / 100n });
    await fork.client.mine({ blocks: 1 });
    await until('it is filled', async () => {
      await keeper.tick();
      return (await stateOf(fork, fork.deployment.exitEscrow, id)) === 2;
    });
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
  });

  test('100 kB of revert data is capped, kept short and skipped', async () => {
    const { job, id } = due.first();
    const source = await startJobServer();
    source.jobs([job]);
    const keeper = await launchKeeper(fork, [source.url]);
    // revert(0, 100000)
    await fork.client.setCode({
      address: fork.deployment.exitEscrow,
      bytecode: '0x620186a06000fd',
    });
    await keeper.tick();
    const [timeline] = await keeper.journal.timeline(id);
    expect(timeline?.decisions).toMatchObject([
      { decision: 'failed', detail: 'reverted with an unknown error 0x00000000' },
    ]);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(0);
  });

  test('a node without eth_simulateV1 is measured through Multicall3', async () => {
    const { job, id } = due.first();
    const proxy = await startProxy(fork.url);
    proxies.push(proxy);
    const missing = {
      fault: 'error',
      code: -32601,
      message: 'Method not found',
      forwarded: false,
    } as const;
    proxy.on('eth_simulateV1', {}, missing);
    const source = await startJobServer();
    source.jobs([job]);
    const keeper = await launchKeeper(fork, [source.url], { rpcUrl: proxy.url });
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await stateOf(fork, fork.deployment.exitEscrow, id)).toBe(2);
  });

  test('a wallet without ether sends nothing, says so, and works again once funded', async () => {
    const { job, id } = due.first();
    const source = await startJobServer();
    source.jobs([job]);
    const address = fork.accounts.agent.account.address;
    const keeper = await launchKeeper(fork, [source.url], { role: 'agent' });
    keeper.run();
    await until('it is not ready for want of ether', async () => {
      const response = await fetch(`${keeper.url}/ready`);
      return response.status === 503 && (await response.text()).includes('"wallets","ok":false');
    });
    await fork.client.setBalance({ address, value: 10n ** 18n });
    await until(
      'it is filled',
      async () => (await stateOf(fork, fork.deployment.exitEscrow, id)) === 2,
      40_000,
    );
  });
});

describe('outages', () => {
  const checksOf = async (keeper: KeeperUnderTest): Promise<Record<string, string>> => {
    const response = await fetch(`${keeper.url}/ready`);
    const { checks } = (await response.json()) as { checks: { name: string; reason?: string }[] };
    return Object.fromEntries(checks.map(({ name, reason }) => [name, reason ?? 'ok']));
  };

  test('the chain goes away, the head freezes, the api goes away: readiness says so, then all recovers', async () => {
    const { job, id } = due.first();
    const proxy = await startProxy(fork.url);
    proxies.push(proxy);
    const source = await startJobServer();
    const keeper = await launchKeeper(fork, [source.url], {
      rpcUrl: proxy.url,
      env: { KEEPER_HEAD_MAX_AGE_MS: '1500', RPC_TIMEOUT_MS: '1000' },
    });
    source.jobs([{ ...job, type: 'schedule' }]);
    keeper.run();
    await fork.client.mine({ blocks: 1 });
    await until('it is ready', async () => (await fetch(`${keeper.url}/ready`)).status === 200);

    await until(
      'a frozen head is told',
      async () => (await checksOf(keeper)).chain?.includes('advanced') === true,
    );
    await proxy.pause();
    await until(
      'a dead chain is told',
      async () => (await checksOf(keeper)).chain?.includes('not answer') === true,
    );
    source.answer(500, '');
    source.jobs([job]);
    await proxy.resume();
    await fork.client.mine({ blocks: 1 });
    await until(
      'it is filled',
      async () => (await stateOf(fork, fork.deployment.exitEscrow, id)) === 2,
    );
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
  });
});
