/**
 * The rows of the index are a function of the chain alone (field cases 37 to 39): every way of reading it that ends at
 * the same head ends with the same bytes in every table.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { SHARE, USD } from '../../contracts-abi/constants.ts';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { basketRegistryAbi } from '../../contracts-abi/generated/index.ts';
import { rpc } from '../anvil.ts';
import { within } from '../../runtime/deadline.ts';
import { useFork } from '../harness/fork.ts';
import { usePostgres } from '../harness/postgres.ts';
import { type Proxy, type RpcReply, type RpcRequest, startProxy } from '../proxy/proxy.ts';
import { NOWHERE, nextRows } from '../../api/accounting/owner-rows.ts';
import { readEpoch } from '../../api/indexer/epoch.ts';
import { selectorOf } from '../../api/indexer/log-words.ts';
import {
  addressWord,
  countsOf,
  hexBlock,
  type IndexOptions,
  type IndexUnderTest,
  openIndex,
} from './index-under-test.ts';
import { Story } from './story.ts';

/** No fork of a chain: read at four ranges at once while it is reorganised, a fork hung for good once. */
const fork = useFork({ whole: true });
const postgres = usePostgres();
const story = new Story(fork);
let proxy: Proxy;
let folder = '';
const open: IndexUnderTest[] = [];
const CHILD = join(import.meta.dirname, 'sync-child.ts');

/** Told once: each test starts from its end. */
beforeAll(async () => {
  const { exitEscrow, limitEscrow, scheduleEscrow } = fork.deployment;
  await story.buy('alice', 6n * SHARE);
  await story.transfer('alice', story.address('bob'), SHARE);
  await story.sell('bob', SHARE / 2n);
  await story.redeem('bob', SHARE / 4n);
  const filled = await story.exit('alice', SHARE, true);
  await story.fill(exitEscrow, filled, { shares: SHARE });
  await story.cancel('alice', exitEscrow, await story.exit('alice', SHARE, false));
  await story.exit('alice', SHARE, false);
  await story.fill(limitEscrow, await story.limit('alice', 50n), { dollars: 50n });
  const schedule = await story.schedule('alice', 100n, 2);
  await story.fill(scheduleEscrow, schedule, { dollars: 50n });
  await story.cancel('bob', scheduleEscrow, await story.schedule('bob', 100n, 2));
  await fork.warp(3_600);
  await story.fill(scheduleEscrow, schedule, { dollars: 50n });
  const agent = await story.agent('carol');
  await story.sessionBuy(agent, 50n, USD / 4n);
  await story.cancelCover('alice', await story.requestCover('alice'));
  await story.settleCover('erin', await story.requestCover('alice'));
});

const rowsOfAlice = async ({ store, indexer }: IndexUnderTest) =>
  (await nextRows(store.db, story.address('alice').toLowerCase(), NOWHERE, indexer.height)).rows;

beforeEach(async () => {
  proxy = await startProxy(fork.url);
  folder = mkdtempSync(join(tmpdir(), 'index-'));
});
afterEach(async () => {
  for (const index of open.splice(0)) await index.close();
  await proxy.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function index(
  options: IndexOptions & { through?: string; deployment?: Deployment } = {},
): Promise<IndexUnderTest> {
  const { through = fork.url, deployment = fork.deployment, ...rest } = options;
  const opened = await openIndex(through, deployment, rest);
  open.push(opened);
  return opened;
}

/** So many blocks that the chain falls into about `ranges` parts. */
async function blocksIn(ranges: number): Promise<number> {
  const blocks = Number(await fork.client.getBlockNumber()) - fork.deployment.startBlock;
  return Math.ceil(blocks / ranges);
}

/** From an empty database, in one go. */
async function freshRows(deployment: Deployment = fork.deployment): Promise<string> {
  const fresh = await index({ deployment });
  await fresh.catchUp();
  return await fresh.dump();
}

const APPENDED = selectorOf(basketRegistryAbi, 'BasketAppended');

type RpcLog = { address: string; topics: string[]; blockNumber: string; logIndex: string };
type Range = { fromBlock: string; toBlock: string; address: string[] };

/** Lets a test change what getLogs answers. */
function rewriteLogs(change: (logs: RpcLog[], range: Range) => RpcLog[]) {
  const rewrite = (reply: RpcReply, request: RpcRequest): RpcReply => ({
    ...reply,
    result: change(reply.result as RpcLog[], request.params[0] as Range),
  });
  return proxy.on('eth_getLogs', {}, { fault: 'rewrite', rewrite });
}

/** The log by which the registry names the story's basket, in a block of the test's choice. */
function appendedIn(at: number, blockHash: string, time: bigint | number) {
  const { registry } = fork.deployment;
  return {
    address: registry.toLowerCase(),
    topics: [APPENDED, addressWord(story.vault)],
    data: '0x',
    blockNumber: hexBlock(at),
    blockHash,
    blockTimestamp: hexBlock(Number(time)),
    transactionHash: addressWord(registry),
    logIndex: hexBlock(9_000),
  };
}

/** Longer than any node takes to answer a few blocks. */
const HELD_MS = 5_000;
/** Shorter than a call that hangs is waited for. */
const STOP_MS = 15_000;

/**
 * How many ranges of logs were on their way at once at most.
 * @param atOnce the first ones are held back until so many are, so that a quick node hides none
 */
function countUnderWay({ client }: IndexUnderTest, atOnce = 1): { most: number } {
  type Call = { method: string; params: unknown[] };
  const ask = client.request as unknown as (call: Call) => Promise<unknown>;
  const seen = { most: 0 };
  let underWay = 0;
  let release = (): void => undefined;
  const enough = new Promise<void>((resolve) => {
    release = resolve;
  });
  const request = async (call: Call): Promise<unknown> => {
    const isRange = call.method === 'eth_getLogs' && isOfRegistry(call.params[0] as Range);
    if (!isRange) return await ask(call);
    underWay += 1;
    seen.most = Math.max(seen.most, underWay);
    if (underWay >= atOnce) release();
    try {
      await within(enough, HELD_MS, 'as many ranges at once').catch(() => undefined);
      return await ask(call);
    } finally {
      underWay -= 1;
    }
  };
  Object.assign(client, { request });
  return seen;
}

const isOfRegistry = ({ address }: Range): boolean =>
  address.some((each) => each.toLowerCase() === fork.deployment.registry.toLowerCase());

const sharesOnly = (rows: string): string[] =>
  rows.split('\n').filter((row) => row.includes('"sender"'));

describe('the rows', () => {
  test('tell the whole story, whether read at once or in forty ranges', async () => {
    const rows = await freshRows();
    const seeded = rows.split('\n').filter((row) => row.includes('"side":"offer"')).length;
    expect(countsOf(rows)).toMatchObject({
      order_index: 4,
      schedule_index: 2,
      schedule_slot: 2,
      // Bought once and by a session, sold once, redeemed once, an exit, a limit and two slots filled.
      trade: 8,
      volume_day: expect.any(Number),
      cover_listing: seeded + 2,
      cover_listing_end: 1,
      cover_sale: 1,
      cover_outcome: 2,
      cover_payout: 1,
    });
    expect(rows).toMatch(/"closed_as":"filled"/);
    expect(rows).toMatch(/"via":"session"/);
    const slow = await index({ maxRange: await blocksIn(40), overlap: 3 });
    await slow.catchUp();
    expect(await slow.dump()).toBe(rows);
  });

  test('of a node that tells no times in its logs are the same', async () => {
    rewriteLogs((logs) => logs.map((log) => ({ ...log, blockTimestamp: undefined })));
    const timeless = await index({ through: proxy.url });
    await timeless.catchUp();
    expect(await timeless.dump()).toBe(await freshRows());
  });

  test('hold nothing of another contract, though a node sends its logs with the same topics', async () => {
    const foreign = rewriteLogs((logs) =>
      logs.flatMap((log, at) => [
        log,
        { ...log, address: fork.deployment.usdg, logIndex: hexBlock(5_000 + at) },
      ]),
    );
    const told = await index({ through: proxy.url });
    await told.catchUp();
    expect(foreign.hits).toBeGreaterThan(0);
    expect(await told.dump()).toBe(await freshRows());
  });

  test('after a reorg of five blocks are those of a fresh sync, though nothing says `removed` (38)', async () => {
    const followed = await index();
    await followed.catchUp();
    const before = await followed.dump();
    await story.buy('alice', SHARE);
    await story.transfer('alice', story.address('dave'), SHARE);
    await story.exit('alice', SHARE / 2n, false);
    await followed.catchUp();
    expect(await followed.dump()).not.toBe(before);
    await rpc(fork.url, 'anvil_reorg', [5, []]);
    await fork.warp(1);
    await followed.catchUp();
    const after = await followed.dump();
    expect(after).toBe(await freshRows());
    // The five blocks held the transfer, the approval and the order; the buy before them stands.
    expect(after).not.toContain(story.address('dave').toLowerCase());
  });

  test('are of one chain, though it was reorganised between two ranges of one run', async () => {
    const followed = await index({ through: proxy.url, maxRange: 4, overlap: 0 });
    await followed.catchUp();
    const before = followed.indexer.height;
    await story.exit('alice', SHARE / 2n, false);
    const end = before + 4;
    expect(await fork.client.getBlockNumber({ cacheTime: 0 })).toBeLessThanOrEqual(BigInt(end));
    for (let block = 0; block < 16; block += 1) await fork.warp(1);
    // The order is read, and the block that ends its range was looked at for the second time: then it goes.
    const reorg = proxy.on(
      'eth_getBlockByNumber',
      { where: ([block]) => Number(block) === end, nth: 2 },
      {
        fault: 'rewrite',
        rewrite: async (reply) => {
          const head = Number(await fork.client.getBlockNumber({ cacheTime: 0 }));
          await rpc(fork.url, 'anvil_reorg', [head - before, []]);
          return reply;
        },
      },
    );
    await followed.catchUp();
    expect(reorg.hits).toBe(1);
    // Of a run whose ranges were all looked at before it happened, the next one finds out.
    await followed.catchUp();
    expect(await followed.dump()).toBe(await freshRows());
  });

  test('are of one chain, though it was reorganised while blocks read before were read again', async () => {
    const followed = await index({ through: proxy.url, maxRange: 4, overlap: 12 });
    await fork.client.mine({ blocks: 12 });
    await story.exit('alice', SHARE / 2n, false);
    await followed.catchUp();
    const cursor = followed.indexer.height;
    for (let block = 0; block < 12; block += 1) await fork.warp(1);
    // Between the first range, which lies below the fork, and the second: the order at the cursor goes.
    const reorg = proxy.on(
      'eth_getBlockByNumber',
      { where: ([block]) => Number(block) === cursor - 4, nth: 1 },
      {
        fault: 'rewrite',
        rewrite: async (reply) => {
          const head = Number(await fork.client.getBlockNumber({ cacheTime: 0 }));
          await rpc(fork.url, 'anvil_reorg', [head - cursor + 2, []]);
          return reply;
        },
      },
    );
    await followed.catchUp();
    expect(reorg.hits).toBe(1);
    // Of a run whose ranges were all looked at before it happened, the next one finds out.
    await followed.catchUp();
    expect(await followed.dump()).toBe(await freshRows());
  });

  test('are of one chain, though it was reorganised while the node refused the first range', async () => {
    const followed = await index({ through: proxy.url, overlap: 12 });
    await fork.client.mine({ blocks: 12 });
    await story.exit('alice', SHARE / 2n, false);
    await followed.catchUp();
    const cursor = followed.indexer.height;
    await fork.client.mine({ blocks: 40 });
    let refused = 0;
    const isLong = ([range]: unknown[]) => {
      const { fromBlock, toBlock } = range as Range;
      return Number(toBlock) - Number(fromBlock) >= 40;
    };
    proxy.on(
      'eth_getLogs',
      { where: isLong },
      {
        fault: 'rewrite',
        rewrite: async ({ jsonrpc, id }) => {
          refused += 1;
          if (refused === 1) {
            const head = Number(await fork.client.getBlockNumber({ cacheTime: 0 }));
            await rpc(fork.url, 'anvil_reorg', [head - cursor + 2, []]);
          }
          return { jsonrpc, id, error: { code: -32602, message: 'more than 10000 results' } };
        },
      },
    );
    await followed.catchUp();
    expect(refused).toBeGreaterThan(0);
    // So far back that NAV history begins anew, with the run after.
    await followed.sync();
    expect(await followed.dump()).toBe(await freshRows());
  });

  test('are of one chain, though a node of another answers for one range of a run', async () => {
    const followed = await index({ through: proxy.url, maxRange: 4, overlap: 0 });
    await followed.catchUp();
    const end = followed.indexer.height + 4;
    for (let block = 0; block < 7; block += 1) await fork.warp(1);
    const other = `0x${'bb'.repeat(32)}`;
    const astray = proxy.on(
      'eth_getBlockByNumber',
      { where: ([block]) => Number(block) === end, times: 2 },
      {
        fault: 'rewrite',
        rewrite: (reply) => ({ ...reply, result: { ...(reply.result as object), hash: other } }),
      },
    );
    await followed.catchUp();
    expect(astray.hits).toBe(2);
    const { rows } = await sql<{ hash: string }>`select hash from index_checkpoint`.execute(
      followed.store.db,
    );
    expect(rows.map(({ hash }) => hash)).not.toContain(other);
    expect(await followed.dump()).toBe(await freshRows());
  });

  test('are of one chain, though a replica that is still on the replaced one answers for the seam of a gap', async () => {
    await fork.client.mine({ blocks: 3 });
    const followed = await index({ through: proxy.url });
    await followed.catchUp();
    await story.transfer('alice', story.address('dave'), SHARE / 4n);
    await fork.warp(1);
    await followed.catchUp();
    const cursor = followed.indexer.height;
    const replaced = await rpc(fork.url, 'eth_getBlockByNumber', [hexBlock(cursor), false]);
    await rpc(fork.url, 'anvil_reorg', [2, []]);
    // Further than the tail of the chain reaches: hashes of this height come from single answers.
    await fork.client.mine({ blocks: 90 });
    const rule = proxy.on(
      'eth_getBlockByNumber',
      { where: ([asked]) => Number(asked) === cursor },
      { fault: 'result', result: replaced },
    );
    await followed.sync();
    expect(rule.hits).toBeGreaterThan(1);
    // Believed, as nothing told otherwise.
    expect(followed.indexer.height).toBeGreaterThan(cursor);
    rule.remove();
    await followed.catchUp();
    expect(await followed.dump()).toBe(await freshRows());
  });

  test.for([0, 12, 50])(
    'are of one chain, though a replica that is still on the replaced one answers once, overlap %i',
    async (overlap) => {
      const database = await databaseUrl('SQLite', `replaced-${overlap}`);
      const followed = await index({ database, through: proxy.url, overlap });
      await followed.catchUp();
      const before = followed.indexer.height;
      await story.transfer('alice', story.address('dave'), SHARE / 4n);
      await fork.warp(1);
      await fork.warp(1);
      const range = { fromBlock: hexBlock(before + 1), toBlock: hexBlock(before + 1) };
      const replacedLogs = await rpc(fork.url, 'eth_getLogs', [range]);
      await followed.catchUp();
      const cursor = followed.indexer.height;
      const replaced = new Map<number, unknown>();
      for (let block = before; block <= cursor; block += 1) {
        const answer = await rpc(fork.url, 'eth_getBlockByNumber', [hexBlock(block), false]);
        replaced.set(block, answer);
      }
      await rpc(fork.url, 'anvil_reorg', [cursor - before, []]);
      await fork.warp(1);
      await fork.warp(1);
      const fresh = await freshRows();
      // One that has just begun asks for each: whether the cursor still stands among them.
      for (const [block, result] of replaced) {
        const copy = join(folder, `copy-${block}.db`);
        await sql`vacuum into ${sql.lit(copy)}`.execute(followed.store.db);
        const begun = await index({ database: `file:${copy}`, through: proxy.url, overlap });
        const rule = proxy.on(
          'eth_getBlockByNumber',
          { where: ([asked]) => Number(asked) === block, times: 1 },
          { fault: 'result', result },
        );
        await begun.catchUp();
        expect(rule.hits).toBe(1);
        expect(await begun.dump()).toBe(fresh);
        rule.remove();
      }
      await followed.catchUp();
      expect(await followed.dump()).toBe(fresh);

      await fork.warp(1);
      const late = await index({ through: proxy.url, overlap });
      const rule = proxy.on(
        'eth_getLogs',
        { where: ([asked]) => (asked as Range).address.length > 20, times: 1 },
        {
          fault: 'rewrite',
          rewrite: (reply) => ({
            ...reply,
            result: [...(reply.result as RpcLog[]), ...(replacedLogs as RpcLog[])],
          }),
        },
      );
      await late.catchUp();
      expect(rule.hits).toBe(1);
      expect(await late.dump()).toBe(await freshRows());
    },
  );

  test.for(['SQLite', 'PostgreSQL'] as const)(
    'of a chain that went back and grows anew go at once, below the old height; of a lagging node none, on %s',
    async (kind) => {
      const database = await databaseUrl(kind, 'anew');
      const followed = await index({ database, through: proxy.url });
      await followed.catchUp();
      const kept = await followed.dump();
      const epoch = await readEpoch(followed.store.db);
      const snapshot = await fork.client.snapshot();
      await story.exit('alice', SHARE / 2n, false);
      for (let block = 0; block < 6; block += 1) {
        await fork.warp(1);
        await followed.catchUp();
      }
      const doomed = await followed.dump();
      expect(doomed).not.toBe(kept);
      const old = Number(await fork.client.getBlockNumber({ cacheTime: 0 }));
      // Field case 37, however far it lags: the same blocks at lower heights say nothing.
      for (const blocks of [1, 4, 9]) {
        const stale = proxy.on('eth_getBlockByNumber', {}, { fault: 'stale', blocks });
        const missing = proxy.on(
          'eth_getBlockByNumber',
          { where: ([block]) => Number(block) > old - blocks },
          { fault: 'result', result: null },
        );
        await followed.sync();
        const hits = stale.hits;
        // One that begins knows the rows alone.
        const begun = await index({ database, through: proxy.url });
        await begun.sync();
        expect([hits > 0, stale.hits > hits]).toEqual([true, true]);
        expect(begun.indexer.caughtUp).toBe(false);
        stale.remove();
        missing.remove();
      }
      expect(await followed.dump()).toBe(doomed);
      expect(await readEpoch(followed.store.db)).toBe(epoch);
      const before = followed.indexer.generation;
      await fork.client.revert({ id: snapshot });
      // Gone back and not grown: the chain has none of the blocks that the rows are of, and no others either.
      await followed.sync();
      expect(followed.indexer.generation).toBe(before);
      expect(await followed.dump()).toBe(doomed);

      for (let block = 0; block < 3; block += 1) await fork.warp(5);
      expect(Number(await fork.client.getBlockNumber({ cacheTime: 0 }))).toBeLessThan(old);
      await followed.sync();
      expect(await followed.dump()).toBe(await freshRows());
      expect(followed.indexer.current).toBe(true);
      // What was worked out from the rows that are gone is not taken for true.
      expect(await readEpoch(followed.store.db)).not.toBe(epoch);
      const fresh = await index();
      await fresh.catchUp();
      expect((await rowsOfAlice(followed)).length).toBeGreaterThan(5);
      expect(await rowsOfAlice(followed)).toEqual(await rowsOfAlice(fresh));
    },
  );

  test('of a basket that is appended hold its whole history, and none of it once that is undone', async () => {
    const { registry, baskets } = fork.deployment;
    const fewer = {
      ...fork.deployment,
      baskets: baskets.filter(({ ticker }) => ticker !== 'HEALTH'),
    };
    const at = Number(await fork.client.getBlockNumber()) + 2;
    const without = (logs: RpcLog[]) =>
      logs.filter(({ topics }) => topics[0] !== APPENDED || topics[1] !== addressWord(story.vault));
    const appended = appendedIn(at, addressWord(registry), await fork.now());
    const within = (range: Range) =>
      isOfRegistry(range) && Number(range.fromBlock) <= at && at <= Number(range.toBlock);
    let isAppended = true;
    rewriteLogs((logs, range) => [
      ...without(logs),
      ...(isAppended && within(range) ? [appended] : []),
    ]);
    const growing = await index({ deployment: fewer, through: proxy.url });
    await growing.catchUp();
    const lacking = await growing.dump();
    const epoch = await readEpoch(growing.store.db);
    await fork.warp(5);
    await fork.warp(5);
    await fork.warp(5);
    appended.blockHash = (await fork.client.getBlock({ blockNumber: BigInt(at) })).hash;
    await growing.catchUp();
    const grown = await growing.dump();
    // Old blocks were read again: rows came where none were.
    expect(await readEpoch(growing.store.db)).not.toBe(epoch);
    expect(sharesOnly(grown).length).toBeGreaterThan(sharesOnly(lacking).length + 8);
    expect(sharesOnly(grown)).toEqual(sharesOnly(await freshRows()));
    // The block of the registration is replaced by one without it.
    isAppended = false;
    await rpc(fork.url, 'anvil_reorg', [3, []]);
    await fork.warp(1);
    await growing.catchUp();
    expect(sharesOnly(await growing.dump())).toEqual(sharesOnly(lacking));
    // What the registry's own events say of the local chain's baskets: the file need not name them all.
    const named = (rows: string) => rows.split('\n').filter((row) => !row.includes('"deployment"'));
    expect(named(await freshRows(fewer))).toEqual(named(await freshRows()));
  });

  test('of a basket that a range names are whole, though the next range is asked for meanwhile', async () => {
    const { baskets, startBlock } = fork.deployment;
    const fewer = {
      ...fork.deployment,
      baskets: baskets.filter(({ ticker }) => ticker !== 'HEALTH'),
    };
    const moved = await fork.client.getLogs({ address: story.vault, fromBlock: 0n });
    const blocks = [...new Set(moved.map(({ blockNumber }) => Number(blockNumber)))];
    // The block before one with transfers of the basket ends the first range, and names it.
    const at =
      (blocks.find((block) => block > startBlock + 1 && !blocks.includes(block - 1)) ?? 0) - 1;
    const { hash, timestamp } = await fork.client.getBlock({ blockNumber: BigInt(at) });
    const appended = appendedIn(at, hash, timestamp);
    rewriteLogs((logs, range) => [
      ...logs.filter(
        ({ topics }) => topics[0] !== APPENDED || topics[1] !== addressWord(story.vault),
      ),
      ...(isOfRegistry(range) && Number(range.fromBlock) <= at && at <= Number(range.toBlock)
        ? [appended]
        : []),
    ]);
    const ahead = await index({
      deployment: fewer,
      through: proxy.url,
      maxRange: at - startBlock + 1,
    });
    const seen = countUnderWay(ahead);
    await ahead.catchUp();
    expect(seen.most).toBeGreaterThan(1);
    expect(sharesOnly(await ahead.dump())).toEqual(sharesOnly(await freshRows()));
  });

  test('of many ranges are asked for four ranges at once, and no more', async () => {
    const narrow = await index({ maxRange: await blocksIn(40) });
    const seen = countUnderWay(narrow, 4);
    await narrow.catchUp();
    expect(seen.most).toBe(4);
    expect(await narrow.dump()).toBe(await freshRows());
  });

  test('end in no block that only a node of another chain has, though it answers every time', async () => {
    const end = Number(await fork.client.getBlockNumber()) - 3;
    const isEnd = (params: unknown[]) => params[0] === hexBlock(end);
    const rewrite = (reply: RpcReply): RpcReply => ({
      ...reply,
      result: { ...(reply.result as object), hash: addressWord(fork.deployment.registry) },
    });
    proxy.on('eth_getBlockByNumber', { where: isEnd }, { fault: 'rewrite', rewrite });
    // So that one range ends there.
    const misled = await index({
      through: proxy.url,
      maxRange: end - fork.deployment.startBlock + 1,
    });
    await expect(misled.sync()).rejects.toThrow(`block ${end} changed`);
    expect(misled.indexer.height).toBeLessThan(end);
  });

  test.each([
    ['refused', false],
    ['found to name a basket', true],
  ])('are read once, though one of the first ranges was %s', async (_why, names) => {
    const { baskets, startBlock } = fork.deployment;
    const fewer = names ? baskets.filter(({ vault }) => vault !== story.vault) : baskets;
    const maxRange = await blocksIn(24);
    const at = startBlock + 2 * maxRange;
    const { hash, timestamp } = await fork.client.getBlock({ blockNumber: BigInt(at) });
    const appended = appendedIn(at, hash, timestamp);
    let asked = 0;
    let isRefused = names;
    const rewrite = ({ jsonrpc, id, result }: RpcReply, request: RpcRequest): RpcReply => {
      const range = request.params[0] as Range;
      const [from, to] = [Number(range.fromBlock), Number(range.toBlock)];
      const isHistory = !isOfRegistry(range);
      if (!isHistory) asked += to - from + 1;
      if (!isRefused && from > at) {
        isRefused = true;
        return { jsonrpc, id, error: { code: -32602, message: 'range too wide' } };
      }
      const real = (result as RpcLog[]).filter(({ topics }) => !names || topics[0] !== APPENDED);
      const isNamed = names && !isHistory && from <= at && at <= to;
      return { jsonrpc, id, result: isNamed ? [...real, appended] : real };
    };
    proxy.on('eth_getLogs', {}, { fault: 'rewrite', rewrite });
    const deployment = { ...fork.deployment, baskets: fewer };
    const ahead = await index({ deployment, through: proxy.url, maxRange });
    await ahead.catchUp();
    expect(isRefused).toBe(true);
    // The range in question and those that were on their way with it.
    expect(asked).toBeLessThan(ahead.indexer.height - startBlock + 6 * maxRange);
    expect(sharesOnly(await ahead.dump())).toEqual(sharesOnly(await freshRows()));
  });
});

test('the history of a basket that was appended is read on where a run broke off', async () => {
  const { baskets, startBlock } = fork.deployment;
  const fewer = baskets.filter(({ vault }) => vault !== story.vault);
  const maxRange = await blocksIn(24);
  const at = startBlock + 12 * maxRange;
  const { hash, timestamp } = await fork.client.getBlock({ blockNumber: BigInt(at) });
  const appended = appendedIn(at, hash, timestamp);
  let told = 0;
  let broken = 0;
  const rewrite = ({ jsonrpc, id, result }: RpcReply, request: RpcRequest): RpcReply => {
    const range = request.params[0] as Range;
    const isHistory = !isOfRegistry(range);
    if (isHistory) told += 1;
    // Each run gets three ranges of it.
    if (isHistory && told % 4 === 0) {
      broken += 1;
      return { jsonrpc, id, error: { code: 429, message: 'slow down' } };
    }
    const real = (result as RpcLog[]).filter(({ topics }) => topics[0] !== APPENDED);
    const [from, to] = [Number(range.fromBlock), Number(range.toBlock)];
    const isNamed = !isHistory && from <= at && at <= to;
    return { jsonrpc, id, result: isNamed ? [...real, appended] : real };
  };
  proxy.on('eth_getLogs', {}, { fault: 'rewrite', rewrite });
  const deployment = { ...fork.deployment, baskets: fewer };
  const ahead = await index({ deployment, through: proxy.url, maxRange });
  await ahead.catchUp();
  expect(broken).toBeGreaterThan(2);
  expect(sharesOnly(await ahead.dump())).toEqual(sharesOnly(await freshRows()));
});

describe('an index that is interrupted', () => {
  test('by refusals of ranges and a time-out completes with the same rows (39)', async () => {
    const wide = (params: unknown[]) => {
      const { fromBlock, toBlock } = params[0] as Range;
      return Number(toBlock) - Number(fromBlock) >= 10;
    };
    const refuse = (code: number, message: string) =>
      ({ fault: 'error', code, message, forwarded: false }) as const;
    const refused = proxy.on('eth_getLogs', { where: wide }, refuse(-32_602, 'ten blocks at most'));
    const full = proxy.on(
      'eth_getLogs',
      { where: (params) => !wide(params), times: 2 },
      refuse(-32_005, 'query returned more than 10000 results'),
    );
    const slow = proxy.on('eth_getLogs', { nth: 9 }, { fault: 'hang' });
    const limited = await index({ through: proxy.url, timeoutMs: 700 });
    await limited.catchUp();
    expect(refused.hits).toBeGreaterThan(1);
    expect([full.hits, slow.hits]).toEqual([2, 1]);
    expect(await limited.dump()).toBe(await freshRows());
  });

  test('by a replica three blocks behind loses nothing and doubles nothing (37)', async () => {
    const followed = await index({ through: proxy.url });
    await followed.catchUp();
    await story.transfer('alice', story.address('dave'), SHARE / 8n);
    const head = Number(await fork.client.getBlockNumber());
    // It has the heads of the newest node, and the logs of one that lags.
    const lagging = rewriteLogs((logs) =>
      logs.filter(({ blockNumber }) => Number(blockNumber) <= head - 3),
    );
    await followed.sync();
    const stale = proxy.on('eth_getBlockByNumber', {}, { fault: 'stale', blocks: 3 });
    const before = await followed.dump();
    await followed.sync();
    expect(await followed.dump()).toBe(before);
    lagging.remove();
    stale.remove();
    await fork.warp(1);
    await followed.catchUp();
    const rows = await followed.dump();
    expect(rows).toBe(await freshRows());
    expect(rows).toContain(story.address('dave').toLowerCase());
  });

  test('by a restart says what it waits for: the head, then that its rows hold there', async () => {
    const database = `file:${join(folder, 'again.sqlite')}`;
    await (await index({ database })).catchUp();
    const again = await index({ database, through: proxy.url });
    const waiting = (reason: string) => ({ ok: false, reason });
    const unread = waiting("the chain's head has not been read yet");
    expect(again.indexer.readiness()).toEqual(unread);
    const refused = proxy.on('eth_getLogs', {}, { fault: 'http', status: 500 });
    await expect(again.sync()).rejects.toThrow();
    expect(again.indexer.readiness()).toEqual(
      waiting('the order index has not yet been confirmed against the head'),
    );
    refused.remove();
    await again.catchUp();
    expect(again.indexer.readiness()).toEqual({ ok: true });
  });

  test.each([
    ['answers', false],
    ['hangs', true],
  ])(
    'by a stop ends at once and goes on from there, though the head is far and the node %s',
    async (_how, hangs) => {
      const database = `file:${join(folder, 'stopped.sqlite')}`;
      const maxRange = await blocksIn(40);
      const stopped = await index({ database, maxRange, through: proxy.url });
      const end = () => stopped.indexer.end();
      const ending = proxy.on(
        'eth_getLogs',
        { nth: 14 },
        {
          fault: 'rewrite',
          rewrite: async (reply) => {
            // The one after it was asked for ahead, or is about to be.
            await vi.waitFor(() => expect(stuck?.hits ?? 1).toBe(1), STOP_MS);
            end();
            return reply;
          },
        },
      );
      const stuck = hangs ? proxy.on('eth_getLogs', { nth: 15 }, { fault: 'hang' }) : null;
      await within(stopped.sync(), STOP_MS, 'the stop');
      const { height, lagBlocks } = stopped.indexer;
      expect([ending.hits, stuck?.hits ?? 1]).toEqual([1, 1]);
      expect([height > fork.deployment.startBlock, lagBlocks > 10 * maxRange]).toEqual([
        true,
        true,
      ]);
      expect(stopped.indexer.caughtUp).toBe(false);
      stuck?.remove();
      const next = await index({ database });
      await next.catchUp();
      expect(await next.dump()).toBe(await freshRows());
    },
  );

  test.for(['SQLite', 'PostgreSQL'] as const)(
    'by kills between steps goes on to the same rows, on %s',
    async (kind) => {
      const database = await databaseUrl(kind);
      const file = join(folder, 'deployment.json');
      writeFileSync(file, JSON.stringify(fork.deployment));
      const range = (await blocksIn(12)).toString();
      for (const nth of [6, 9]) {
        const stuck = proxy.on('eth_getLogs', { nth }, { fault: 'hang' });
        const child = spawn(
          process.execPath,
          ['--import', 'tsx', CHILD, proxy.url, file, database, range],
          { stdio: ['ignore', 'ignore', 'inherit'] },
        );
        const ended = once(child, 'exit');
        await expect.poll(() => stuck.hits, { timeout: 50_000 }).toBe(1);
        child.kill('SIGKILL');
        expect(await ended).toEqual([null, 'SIGKILL']);
        stuck.remove();
      }
      const survivor = await index({ database });
      await survivor.catchUp();
      expect(await survivor.dump()).toBe(await freshRows());
    },
  );
});

function databaseUrl(kind: 'SQLite' | 'PostgreSQL', name = 'killed'): Promise<string> | string {
  return kind === 'SQLite' ? `file:${join(folder, `${name}.sqlite`)}` : postgres.database(name);
}
