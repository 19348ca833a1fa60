/**
 * The keeper's soak: the seeded chain with its market at 0.25 s blocks, two keepers that compete for one api's jobs,
 * RPC faults of every kind, orders placed all the time, one keeper killed every minute. What must hold at the end:
 * every order executed exactly once; each journal's books equal the chain's balances to the base unit; memory and
 * handles flat; at most one RPC call a second while idle, at 0.25 s and at 0.1 s blocks.
 */
import type { Hex } from 'viem';
import { startMarket } from '../chain/market/market.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import { resumedProcess } from '../chain/seed/history.ts';
import { startProxy } from '../proxy/proxy.ts';
import { startBlocks } from './blocks.ts';
import { type Books, readBooks } from './books.ts';
import { type Chaos, startChaos } from './chaos.ts';
import {
  type Balances,
  balancesOf,
  type Ground,
  onGround,
  type SoakResult,
  startSoakChain,
} from './ground.ts';
import { fillsById, startOwners } from './owners.ts';
import { createProcess, type SoakProcess } from './processes.ts';
import { Resources, type Trend } from './resources.ts';

const BLOCK_MS = 250;
const FAST_BLOCK_MS = 100;
const KILL_EVERY_MS = 60_000;
/** What is on a journal's way to its final state when orders stop coming. */
const DRAIN_MS = 240_000;
const IDLE_SETTLE_MS = 15_000;
const IDLE_MS = 30_000;
const WARM_UP_MS = 30_000;
const SAMPLE_MS = 2_000;
const OWNERS: readonly Role[] = ['alice', 'bob', 'dave'];
const KEEPERS = [
  { name: 'keeper-a', role: 'keeper' },
  { name: 'keeper-b', role: 'carol' },
] as const;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** @param minutes of load, before what is under way is waited for */
export async function soakKeeper(options: {
  minutes: number;
  say: (line: string) => void;
}): Promise<SoakResult> {
  return await onGround(options.say, (ground) => run(options.minutes, ground));
}

async function run(minutes: number, ground: Ground): Promise<SoakResult> {
  const { folder, say, atEnd } = ground;
  const problems: string[] = [];
  const { anvil, client, manifest } = await startSoakChain(ground);
  const blocks = await startBlocks(client, BLOCK_MS);
  atEnd(() => blocks.stop());
  const market = startMarket({
    client,
    maker: devAccount('maker').account,
    manifest,
    process: resumedProcess(manifest),
  });
  atEnd(() => market.stop());
  const { deployment } = manifest;
  const startBlock = await client.getBlockNumber();

  const proxyOf = async () => {
    const proxy = await startProxy(anvil.url);
    atEnd(() => proxy.stop());
    return proxy;
  };
  const apiProxy = await proxyOf();
  const api = await createProcess({
    name: 'api',
    entry: 'api',
    folder,
    rpcUrl: apiProxy.url,
    deployment,
    env: (port) => ({ API_PORT: String(port), PUBLIC_BASE_URL: `http://127.0.0.1:${port}` }),
  });
  atEnd(() => api.stop());
  await api.start();
  const keepers = await Promise.all(
    KEEPERS.map(async ({ name, role }) => {
      const proxy = await proxyOf();
      const keeper = await createProcess({
        name,
        entry: 'keeper',
        folder,
        rpcUrl: proxy.url,
        deployment,
        env: (port) => ({
          KEEPER_PORT: String(port),
          API_URLS: api.url,
          WALLET_PRIVATE_KEYS: devAccount(role).privateKey,
        }),
      });
      atEnd(() => keeper.stop());
      await keeper.start();
      return {
        process: keeper,
        role,
        proxy,
        before: await balancesOf(client, manifest, devAccount(role).account.address),
      };
    }),
  );
  const [, victim] = keepers;
  if (victim === undefined) throw new Error('no second keeper');

  say(`${minutes} minutes of load begin`);
  const owners = await startOwners({ client, manifest, roles: OWNERS, pauseMs: 2_500 });
  const chaos: Chaos[] = [apiProxy, ...keepers.map(({ proxy }) => proxy)].map((proxy, index) =>
    startChaos(proxy, { offset: index * 4 }),
  );
  const resources = new Resources();
  let kills = 0;
  const started = performance.now();
  const endsAt = started + minutes * 60_000;
  let nextKill = started + KILL_EVERY_MS / 2;
  let nextWord = started + KILL_EVERY_MS;
  while (performance.now() < endsAt) {
    await sleep(SAMPLE_MS);
    const now = performance.now();
    for (const each of [api, ...keepers.map(({ process }) => process)]) {
      if (now - each.readySince() > WARM_UP_MS) resources.sample(each.name, each.pid());
    }
    if (now > nextKill) {
      nextKill += KILL_EVERY_MS;
      kills += 1;
      await victim.process.kill();
      await victim.process.start();
    }
    if (now > nextWord) {
      nextWord += KILL_EVERY_MS;
      say(
        `${Math.round((now - started) / 60_000)} min: ${owners.placed.length} orders, ${kills} kills`,
      );
    }
  }
  await owners.stop();
  await Promise.all(chaos.map((each) => each.stop()));

  say('no more orders, no more faults: waiting for what is under way');
  const escrows = [deployment.exitEscrow, deployment.limitEscrow, deployment.scheduleEscrow];
  const unfilled = async (): Promise<Hex[]> => {
    const fills = await fillsById(client, escrows, startBlock);
    return owners.placed.filter(({ id }) => !fills.has(id)).map(({ id }) => id);
  };
  const drained = await within(DRAIN_MS, async () => (await unfilled()).length === 0);
  const settled = await within(DRAIN_MS, async () =>
    keepers.every(({ process }) => readBooks(process.database).open === 0),
  );
  if (!settled) problems.push('a journal holds attempts that are not settled');
  const missing = drained ? [] : await unfilled();
  const fills = await fillsById(client, escrows, startBlock);
  const twice = [...fills.values()].filter(({ count }) => count > 1).length;
  if (missing.length > 0)
    problems.push(`${missing.length} orders were not executed: ${missing[0]}`);
  if (twice > 0) problems.push(`${twice} orders were executed more than once`);
  if (owners.placed.length === 0) problems.push('no order was placed');

  const idle: Record<string, Record<string, number>> = {};
  for (const blockMs of [BLOCK_MS, FAST_BLOCK_MS]) {
    blocks.every(blockMs);
    await sleep(IDLE_SETTLE_MS);
    for (const { proxy } of keepers) proxy.resetCounts();
    await sleep(IDLE_MS);
    const rates = keepers.map(({ process, proxy }) => [
      process.name,
      callsOf(proxy.counts()) / (IDLE_MS / 1_000),
    ]);
    idle[`blocksOf${blockMs}Ms`] = Object.fromEntries(rates) as Record<string, number>;
    for (const [name, rate] of rates) {
      if (Number(rate) > 1) {
        problems.push(
          `${name} makes ${rate} RPC calls a second while idle at ${blockMs} ms blocks`,
        );
      }
    }
  }
  blocks.every(BLOCK_MS);

  const trends = trendsOf([api, ...keepers.map(({ process }) => process)], resources, problems);
  for (const { process } of keepers) await process.stop();
  const books: Record<string, object> = {};
  for (const { process, role, before } of keepers) {
    const after = await balancesOf(client, manifest, devAccount(role).account.address);
    books[process.name] = compare(process, readBooks(process.database), before, after, problems);
  }
  const hits = chaos.map((each) => each.hits());
  const faults = Object.fromEntries(
    [...new Set(hits.flatMap((each) => Object.keys(each)))].map((kind) => [
      kind,
      hits.reduce((sum, each) => sum + (each[kind] ?? 0), 0),
    ]),
  );
  for (const [kind, count] of Object.entries(faults)) {
    if (count === 0) say(`no call met the fault "${kind}"`);
  }
  if (problems.length > 0) {
    for (const { process } of keepers)
      say(`${process.name}:\n${process.log.slice(-40).join('\n')}`);
  }
  const figures = {
    minutes,
    orders: owners.placed.length,
    byKind: tally(owners.placed.map(({ kind }) => kind)),
    executedOnce: [...fills.values()].filter(({ count }) => count === 1).length,
    byKeeper: tally(
      [...fills.values()].map(
        ({ executor }) =>
          KEEPERS.find(({ role }) => devAccount(role).account.address === executor)?.name ??
          'other',
      ),
    ),
    notPlaced: owners.faults.length,
    firstNotPlaced: owners.faults[0] ?? null,
    kills,
    faults,
    books,
    resources: trends,
    idleCallsPerSecond: idle,
    blocksMissed: blocks.faults(),
  };
  return { ok: problems.length === 0, figures, problems };
}

const callsOf = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

const tally = (words: readonly string[]): Record<string, number> =>
  words.reduce<Record<string, number>>(
    (counts, word) => ({ ...counts, [word]: (counts[word] ?? 0) + 1 }),
    {},
  );

async function within(ms: number, holds: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + ms;
  for (;;) {
    if (await holds()) return true;
    if (performance.now() > deadline) return false;
    await sleep(1_000);
  }
}

function trendsOf(
  processes: readonly SoakProcess[],
  resources: Resources,
  problems: string[],
): Record<string, Trend> {
  const trends: Record<string, Trend> = {};
  for (const { name } of processes) {
    const trend = resources.trend(name);
    trends[name] = trend;
    if (!trend.flat) problems.push(`memory or handles of ${name} grow`);
  }
  return trends;
}

/** Journal against chain, in base units. */
function compare(
  { name }: SoakProcess,
  books: Books,
  before: Balances,
  after: Balances,
  problems: string[],
): object {
  const earned = after.usdg - before.usdg;
  const spent = before.wei - after.wei;
  if (books.feesUsdg !== earned) {
    problems.push(`${name}: the journal has ${books.feesUsdg} of USDG, the chain ${earned}`);
  }
  if (books.gasWei !== spent) {
    problems.push(`${name}: the journal has ${books.gasWei} wei of gas, the chain ${spent}`);
  }
  return {
    executed: books.executed,
    reverted: books.reverted,
    journalUsdg: books.feesUsdg.toString(),
    chainUsdg: earned.toString(),
    journalWei: books.gasWei.toString(),
    chainWei: spent.toString(),
  };
}
