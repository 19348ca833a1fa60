/** A keeper that no api serves: it reads the chain itself, whatever its node refuses, and costs little while idle. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEventLogs } from 'viem';
import { afterEach, describe, expect, test } from 'vitest';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { Discovery } from '../../keeper/discovery/discovery.ts';
import { storeMigrations, type StoreTables } from '../../keeper/journal/migrations.ts';
import { createChainClient } from '../../runtime/chain/client.ts';
import { createLogger } from '../../runtime/logger.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { buy, cancelLimit, limit, schedule, stop, takeCover } from './chain-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { balanceOf, fillsOf, moveHealth, stateOf } from './orders.ts';
import { type KeeperUnderTest, launchKeeper, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
/** Nobody listens there. */
const NO_API = ['http://127.0.0.1:9'];
const ALONE = { env: { KEEPER_DISCOVERY: 'fallback', KEEPER_DISCOVERY_MS: '200' } };
const FILLED = 2;

const opened: { store: Store<StoreTables>; proxy: Proxy; folder: string }[] = [];

afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
  for (const { store, proxy, folder } of opened.splice(0)) {
    await store.close();
    await proxy.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

const usdgOf = (keeper: KeeperUnderTest) => balanceOf(fork, fork.deployment.usdg, keeper.executor);

async function warpTo(time: number): Promise<void> {
  await fork.warp(time - (await fork.now()));
}

describe('a keeper without any api', () => {
  test('fills a slot that is due, a stop and a limit buy that trigger, and books what arrives', async () => {
    const { exitEscrow, limitEscrow, scheduleEscrow } = fork.deployment;
    const health = fork.vault('HEALTH');
    const sold = await stop(fork, health, await buy(fork, health, 200n), 97n);
    const bought = await limit(fork, health, 150n, 97n);
    const slots = await schedule(fork, fork.vault('CORE'), 2);
    const keeper = await launchKeeper(fork, NO_API, ALONE);
    const before = await usdgOf(keeper);
    keeper.run();
    const slotFills = () => fillsOf(fork, scheduleEscrow, slots);
    await until('the slot is filled', async () => (await slotFills()).length === 1);
    expect(await stateOf(fork, exitEscrow, sold)).toBe(1);

    await moveHealth(fork, 0.95);
    await until(
      'the stop is filled',
      async () => (await stateOf(fork, exitEscrow, sold)) === FILLED,
    );
    await until(
      'the limit is filled',
      async () => (await stateOf(fork, limitEscrow, bought)) === FILLED,
    );
    expect(keeper.status().sourceOkMs).not.toBeNull();
    const fills = [
      ...(await fillsOf(fork, exitEscrow, sold)),
      ...(await fillsOf(fork, limitEscrow, bought)),
      ...(await slotFills()),
    ];
    expect(fills.map(({ args }) => args.executor)).toEqual(Array(3).fill(keeper.executor));
    const paid = fills.reduce((sum, { args }) => sum + args.executorFee, 0n);
    expect((await usdgOf(keeper)) - before).toBe(paid);
  });

  test('takes the snapshots of a cover week, settles it and pays it out', async () => {
    const { close, settle } = await takeCover(fork, fork.vault('MAG7'));
    const keeper = await launchKeeper(fork, NO_API, ALONE);
    keeper.run();
    const events = async () =>
      parseEventLogs({
        abi: coverMarketAbi,
        eventName: ['SnapshotTaken', 'WeekSettled', 'RewardPaid', 'PaidOut'],
        logs: await fork.client.getLogs({
          address: fork.deployment.coverMarket,
          fromBlock: BigInt(fork.deployment.startBlock),
        }),
      }).map(({ eventName }) => eventName);
    const untilThereIs = (what: string) =>
      until(what, async () => (await events()).includes(what as 'PaidOut'), 40_000);
    await warpTo(close);
    await untilThereIs('SnapshotTaken');
    for (const symbol of ['NVDA', 'AAPL', 'MSFT', 'AMZN', 'META', 'TSLA']) {
      await fork.pushPrice(symbol, 0.95);
    }
    await warpTo(settle);
    await untilThereIs('WeekSettled');
    await untilThereIs('PaidOut');
    expect(await events()).toEqual([
      'SnapshotTaken',
      'WeekSettled',
      'PaidOut',
      'PaidOut',
      'RewardPaid',
    ]);
  });

  test('voids a week whose snapshot nobody took, and pays its refunds', async () => {
    const { close } = await takeCover(fork, fork.vault('CORE'));
    await warpTo(close + 3_600);
    const keeper = await launchKeeper(fork, NO_API, ALONE);
    keeper.run();
    const count = async (eventName: 'WeekVoided' | 'PaidOut') =>
      parseEventLogs({
        abi: coverMarketAbi,
        eventName,
        logs: await fork.client.getLogs({
          address: fork.deployment.coverMarket,
          fromBlock: BigInt(fork.deployment.startBlock),
        }),
      }).length;
    await until('the week is void', async () => (await count('WeekVoided')) === 1, 40_000);
    await until('the refunds arrive', async () => (await count('PaidOut')) > 0, 40_000);
  });
});

describe('discovery', () => {
  /** Its clock stands still but for `pass`. */
  async function discover(folder = mkdtempSync(join(tmpdir(), 'discovery-'))) {
    const { deployment } = fork;
    const proxy = await startProxy(fork.url);
    const store = await openStore<StoreTables>({
      url: `file:${join(folder, 'keeper.sqlite')}`,
      migrations: storeMigrations,
    });
    opened.push({ store, proxy, folder });
    let clock = 0;
    const discovery = new Discovery({
      client: createChainClient({
        urls: [proxy.url],
        timeoutMs: 5_000,
        multicall3: deployment.multicall3,
      }),
      deployment,
      db: store.db,
      logger: createLogger('keeper', 'fatal'),
      source: 1,
      everyMs: 3_000,
      now: () => clock,
    });
    const { signal } = new AbortController();
    const list = async () => {
      const answer = await discovery.list(signal);
      return answer.tag === 'jobs' ? answer.jobs.map(({ id }) => id) : answer.why;
    };
    const pass = (ms: number) => {
      clock += ms;
    };
    const look = async () => {
      pass(6_000);
      await list();
      pass(6_000);
      return await list();
    };
    return { proxy, folder, list, look, pass, standBy: () => discovery.standBy(signal) };
  }

  /** Blocks asked for by one getLogs call. */
  const widthOf = ([filter]: unknown[]): number => {
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string };
    return Number(toBlock) - Number(fromBlock) + 1;
  };

  test('finds the same where getLogs takes ten blocks, and goes on after a node that fails', async () => {
    const due = await limit(fork, fork.vault('CORE'), 50n, 110n);
    const { proxy, look } = await discover();
    const tooWide = { fault: 'error', code: -32_005, message: 'no', forwarded: false } as const;
    proxy.on('eth_getLogs', { where: (params) => widthOf(params) > 10 }, tooWide);
    expect(await look()).toEqual([due]);

    proxy.on('eth_getLogs', {}, { fault: 'http', status: 503 });
    const later = await limit(fork, fork.vault('CORE'), 50n, 110n);
    // What is known is told all the same.
    expect(await look()).toEqual([due]);
    proxy.clear();
    proxy.on('*', {}, { fault: 'http', status: 503 });
    expect(typeof (await look())).toBe('string');
    proxy.clear();
    expect(await look()).toEqual([due, later]);
  });

  test('follows a reorg: what it undid is open again, what it moved is found where it is now', async () => {
    const kept = await limit(fork, fork.vault('CORE'), 50n, 110n);
    const { look } = await discover();
    expect(await look()).toEqual([kept]);
    const before = await fork.client.snapshot();
    await cancelLimit(fork, kept);
    const gone = await limit(fork, fork.vault('CORE'), 60n, 110n);
    expect(await look()).toEqual([gone]);
    await fork.client.revert({ id: before });
    await fork.client.mine({ blocks: 3 });
    expect(await look()).toEqual([kept]);
    const after = await limit(fork, fork.vault('CORE'), 70n, 110n);
    expect(await look()).toEqual([kept, after]);
  });

  test('goes on from the store after a restart, and reads again what was on another chain', async () => {
    const due = await limit(fork, fork.vault('CORE'), 50n, 110n);
    await fork.client.mine({ blocks: 400 });
    /** Reads of more than the newest blocks and those since. */
    const wideReads = (proxy: Proxy) =>
      proxy.on(
        'eth_getLogs',
        { where: (params) => widthOf(params) > 300 },
        { fault: 'delay', ms: 0 },
      );
    const first = await discover();
    const all = wideReads(first.proxy);
    expect(await first.look()).toEqual([due]);
    expect(all.seen).toBeGreaterThan(0);

    const second = await discover(first.folder);
    const again = wideReads(second.proxy);
    expect(await second.look()).toEqual([due]);
    expect(again.seen).toBe(0);

    const third = await discover(first.folder);
    const anew = wideReads(third.proxy);
    const hash = `0x${'12'.repeat(32)}`;
    third.proxy.on(
      'eth_getBlockByNumber',
      { nth: 1 },
      {
        fault: 'rewrite',
        rewrite: (reply) => ({ ...reply, result: { ...(reply.result as object), hash } }),
      },
    );
    expect(await third.look()).toEqual([due]);
    expect(anew.seen).toBeGreaterThan(0);
  });

  test('costs less than half a call a second while nothing is due, and hardly any while an api answers', async () => {
    await limit(fork, fork.vault('CORE'), 50n, 50n);
    const { proxy, list, look, pass, standBy } = await discover();
    expect(await look()).toEqual([]);
    const run = async (seconds: number, each: () => Promise<unknown>): Promise<number> => {
      proxy.resetCounts();
      for (let second = 0; second < seconds; second += 1) {
        await fork.client.mine({ blocks: 1 });
        pass(1_000);
        await each();
      }
      return Object.values(proxy.counts()).reduce((sum, count) => sum + count, 0);
    };
    expect(await run(120, list)).toBeLessThanOrEqual(70);
    expect(await run(120, standBy)).toBeLessThanOrEqual(16);
  });
});

describe('beside an api', () => {
  test('always lists as well, and work that both know is done once', async () => {
    const due = await limit(fork, fork.vault('CORE'), 50n, 110n);
    const source = await startJobServer();
    source.jobs([]);
    const env = { KEEPER_DISCOVERY: 'always', KEEPER_DISCOVERY_MS: '200' };
    const keeper = await launchKeeper(fork, [source.url], { env });
    keeper.run();
    await until(
      'it is filled',
      async () => (await stateOf(fork, fork.deployment.limitEscrow, due)) === FILLED,
    );
    expect(await fillsOf(fork, fork.deployment.limitEscrow, due)).toHaveLength(1);
  });
});
