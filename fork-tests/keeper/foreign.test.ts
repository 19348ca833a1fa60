/** Work of another service on a contract of the operator's list: what the simulation pays is all that counts. */
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type Address, erc20Abi, type Hex, numberToHex } from 'viem';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import {
  cheatingCode,
  payingCode,
  placeContract,
  WORK_SELECTOR,
  workCall,
} from './foreign-contracts.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { balanceOf } from './orders.ts';
import {
  type KeeperUnderTest,
  launchKeeper,
  metricOf,
  restartKeeper,
  stopKeepers,
} from './use-keeper.ts';

const FOREIGN: Address = '0x00000000000000000000000000000000f0e16e00';
const ALLOW_LIST = join(tmpdir(), `keeper-foreign-${process.pid}.json`);
const env = { KEEPER_ALLOW_LIST_FILE: ALLOW_LIST };
const fork = useFork();

beforeEach(async () => {
  const contracts = [{ address: FOREIGN, name: 'another service', selectors: [WORK_SELECTOR] }];
  writeFileSync(ALLOW_LIST, JSON.stringify({ contracts }));
  const { usdg } = fork.deployment;
  await placeContract(fork, FOREIGN, payingCode(usdg));
  await write(fork.client, fork.accounts.alice.account, {
    address: usdg,
    abi: erc20Abi,
    functionName: 'transfer',
    args: [FOREIGN, 20_000_000n],
  });
});

afterEach(async () => {
  vi.restoreAllMocks();
  await stopKeepers();
  await stopJobServers();
  rmSync(ALLOW_LIST, { force: true });
});

const idOf = (number: number) => numberToHex(number, { size: 32 });

/** A job that promises `promised` and whose contract pays `pays`: USDG base units. */
const jobOf = (number: number, promised: bigint, pays: bigint) => ({
  type: 'work',
  contract: FOREIGN,
  id: idOf(number),
  ticker: null,
  feeUsdg: promised.toString(),
  slippageBps: 0,
  tx: { to: FOREIGN, data: workCall(pays), value: '0' },
  armData: '0x',
});

describe('a job of another service', () => {
  test('is executed once; journal and balance agree on what it paid', async () => {
    const { usdg } = fork.deployment;
    const source = await startJobServer();
    source.jobs([jobOf(1, 1_500_000n, 1_500_000n)]);
    const keeper = await launchKeeper(fork, [source.url], { env });
    const before = await balanceOf(fork, usdg, keeper.executor);
    const etherBefore = await fork.client.getBalance({ address: keeper.executor });
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    await keeper.tick();
    expect((await balanceOf(fork, usdg, keeper.executor)) - before).toBe(1_500_000n);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
    const [timeline] = await keeper.journal.timeline(idOf(1));
    const [attempt] = timeline?.attempts ?? [];
    expect(attempt).toMatchObject({
      kind: 'foreign',
      work_type: 'foreign',
      outcome: 'mined',
      fee_usdg: '1500000',
    });
    const spent = etherBefore - (await fork.client.getBalance({ address: keeper.executor }));
    expect(BigInt(attempt?.gas_used ?? 0) * BigInt(attempt?.gas_price_wei ?? 0)).toBe(spent);
  });

  test('whose contract pays less than was promised is not executed, and its source loses trust', async () => {
    const source = await startJobServer();
    source.jobs([1, 2, 3].map((number) => jobOf(number, 1_500_000n, 1_000_000n)));
    const keeper = await launchKeeper(fork, [source.url], { env });
    await keeper.tick();
    for (const number of [1, 2, 3]) {
      const [timeline] = await keeper.journal.timeline(idOf(number));
      expect(timeline?.decisions).toMatchObject([
        { decision: 'short_fee', detail: 'gains $1, not $1.485' },
      ]);
    }
    expect(await metricOf(keeper, 'sources_dropped_total')).toBe(1);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(0);
  });

  test('that pays less than its gas is left, whatever it promises rightly', async () => {
    const source = await startJobServer();
    source.jobs([jobOf(1, 10n, 10n)]);
    const keeper = await launchKeeper(fork, [source.url], { env });
    await keeper.tick();
    const [timeline] = await keeper.journal.timeline(idOf(1));
    expect(timeline?.decisions.map(({ decision }) => decision)).toEqual(['does_not_pay']);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(0);
  });

  test('is not run on a node that cannot simulate it as our wallet', async () => {
    const proxy = await startProxy(fork.url);
    try {
      proxy.on(
        'eth_simulateV1',
        {},
        { fault: 'error', code: -32601, message: 'Method not found', forwarded: false },
      );
      const source = await startJobServer();
      source.jobs([jobOf(1, 1_500_000n, 1_500_000n)]);
      const keeper = await launchKeeper(fork, [source.url], { env, rpcUrl: proxy.url });
      await keeper.tick();
      const [timeline] = await keeper.journal.timeline(idOf(1));
      expect(timeline?.decisions).toMatchObject([
        { decision: 'unavailable', detail: 'no eth_simulateV1' },
      ]);
      expect(proxy.counts().eth_sendRawTransaction).toBeUndefined();
    } finally {
      await proxy.stop();
    }
  });

  test('on a contract that nobody listed is refused', async () => {
    const source = await startJobServer();
    source.jobs([jobOf(1, 1_500_000n, 1_500_000n)]);
    const keeper = await launchKeeper(fork, [source.url]);
    await keeper.tick();
    expect(await metricOf(keeper, 'jobs_refused_total', '"unsupported_type"')).toBe(1);
    expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(0);
  });
});

const sentBy = ({ executor }: KeeperUnderTest) =>
  fork.client.getTransactionCount({ address: executor });

async function decisionsOf(keeper: KeeperUnderTest, number: number) {
  const [timeline] = await keeper.journal.timeline(idOf(number));
  return timeline?.decisions ?? [];
}

const placeCheat = (...cheat: [tell: 'baseFee' | 'gasPrice', onChain: 'nothing' | 'revert']) =>
  placeContract(fork, FOREIGN, cheatingCode(fork.deployment.usdg, ...cheat));

const proxies: Proxy[] = [];
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

/** Of a node that simulates, but not at a price. */
async function unpricedUrl(): Promise<string> {
  const proxy = await startProxy(fork.url);
  proxies.push(proxy);
  const isPriced = ([order]: unknown[]) => (order as { validation: boolean }).validation;
  const message = 'validation is not supported';
  const fault = { fault: 'error', code: -32602, message, forwarded: false } as const;
  proxy.on('eth_simulateV1', { where: isPriced }, fault);
  return proxy.url;
}

/** Lists five jobs that nobody saw before, `ticks` times. */
async function flood(
  keeper: KeeperUnderTest,
  source: Awaited<ReturnType<typeof startJobServer>>,
  ticks: number,
  from = 1,
): Promise<void> {
  let number = from;
  for (let tick = 0; tick < ticks; tick += 1) {
    source.jobs(Array.from({ length: 5 }, () => jobOf(number++, 1_500_000n, 1_500_000n)));
    await keeper.tick();
    await keeper.settle(10_000);
  }
}

describe('a contract that does on chain what it does not in a simulation', () => {
  test('and pays nothing there: three transactions, then none for a day, restart or not', async () => {
    await placeCheat('baseFee', 'nothing');
    const source = await startJobServer();
    const keeper = await launchKeeper(fork, [source.url], { env, rpcUrl: await unpricedUrl() });
    await flood(keeper, source, 6);
    expect(await sentBy(keeper)).toBe(3);
    expect(await metricOf(keeper, 'decisions_total', '"unpaid"')).toBe(3);
    expect(await metricOf(keeper, 'decisions_total', '"executed"')).toBe(0);
    // Of the source that listed them nobody asks any more.
    expect(await metricOf(keeper, 'sources_dropped_total')).toBe(1);
    // Which of the five of a tick goes first is decided by whichever simulation is back first.
    const told = await Promise.all([1, 2, 3, 4, 5].map((number) => decisionsOf(keeper, number)));
    expect(told.flatMap((decisions) => decisions.slice(-1))).toContainEqual(
      expect.objectContaining({
        decision: 'unpaid',
        detail: expect.stringMatching(
          /^foreign, fee \$0 received, not \$1\.485 as in its simulation/,
        ),
      }),
    );

    const next = await restartKeeper(keeper);
    await flood(next, source, 2, 1_000);
    expect(await sentBy(next)).toBe(3);
    expect(await metricOf(next, 'foreign_contracts_stopped')).toBe(1);
    expect(await decisionsOf(next, 1_000)).toMatchObject([
      {
        decision: 'contract_stopped',
        detail: expect.stringMatching(
          /is stopped until 20.*: 3 of its transactions lost within 24 hours, .*KEEPER_FOREIGN_LOSSES 3/,
        ),
      },
    ]);
  });

  test('and reverts there: what its source says of it anew each time buys no further try', async () => {
    await placeCheat('gasPrice', 'revert');
    const real = performance.now.bind(performance);
    let ahead = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead);
    const source = await startJobServer();
    const keeper = await launchKeeper(fork, [source.url], { env, rpcUrl: await unpricedUrl() });
    for (let tick = 0; tick < 12; tick += 1) {
      source.jobs([jobOf(1, 1_400_000n + BigInt(tick), 1_500_000n)]);
      await keeper.tick();
      await keeper.settle(3_000);
      ahead += 31_000;
    }
    expect(await sentBy(keeper)).toBe(3);
    expect((await decisionsOf(keeper, 1)).at(-1)?.decision).toBe('contract_stopped');
    // A day later the first of the three is forgotten, and one more try is due.
    ahead += 86_400_000;
    await keeper.tick();
    await keeper.settle(3_000);
    expect(await sentBy(keeper)).toBe(4);
  });

  test.each([
    ['baseFee', 'nothing', 'short_fee', 'gains $0 at the real gas price, not $1.485'],
    ['gasPrice', 'revert', 'failed', 'it passes a simulation and reverts at the real gas price'],
  ] as const)(
    'and tells it by the %s (%s): is found out where the node simulates at a price',
    async (tell, onChain, decision, detail) => {
      await placeCheat(tell, onChain);
      const source = await startJobServer();
      source.jobs([jobOf(1, 1_500_000n, 1_500_000n)]);
      const keeper = await launchKeeper(fork, [source.url], { env });
      await keeper.tick();
      expect(await decisionsOf(keeper, 1)).toMatchObject([{ decision, detail }]);
      expect(await sentBy(keeper)).toBe(0);
    },
  );

  test('has no more than one transaction under way', async () => {
    const source = await startJobServer();
    source.jobs([1, 2, 3, 4].map((number) => jobOf(number, 1_500_000n, 1_500_000n)));
    const keeper = await launchKeeper(fork, [source.url], { env });
    const pool = (): Promise<{ pending: Hex }> =>
      fork.client.request({ method: 'txpool_status' } as never);
    await fork.client.setAutomine(false);
    try {
      await keeper.tick();
      expect(Number((await pool()).pending)).toBe(1);
    } finally {
      await fork.client.setAutomine(true);
      await fork.client.mine({ blocks: 1 });
    }
    expect(await keeper.settle(10_000)).toBe(true);
  });

  test('may not cost more than what it may lose, whatever it pays in the simulation', async () => {
    const source = await startJobServer();
    source.jobs([jobOf(1, 15_000_000n, 15_000_000n)]);
    const keeper = await launchKeeper(fork, [source.url], {
      env: { ...env, KEEPER_FOREIGN_LOSS_USDG: '0.000001' },
    });
    await keeper.tick();
    expect(await decisionsOf(keeper, 1)).toMatchObject([
      {
        decision: 'over_budget',
        detail: expect.stringMatching(/^may cost \$0\.\d+ of gas, .* may lose \$0\.000001 /),
      },
    ]);
    expect(await sentBy(keeper)).toBe(0);
  });
});
