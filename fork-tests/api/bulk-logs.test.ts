/** Answers that a thread beside the process takes apart give the rows that the process itself makes of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeFunctionData, erc20Abi, multicall3Abi, numberToHex } from 'viem';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { SHARE, USD } from '../../contracts-abi/constants.ts';
import { basketRegistryAbi } from '../../contracts-abi/generated/index.ts';
import { selectorOf } from '../../api/indexer/log-words.ts';
import { rpc } from '../anvil.ts';
import { MULTICALL3, write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { usePostgres } from '../harness/postgres.ts';
import { type Proxy, type RpcReply, startProxy } from '../proxy/proxy.ts';
import {
  addressWord,
  countsOf,
  hexBlock,
  type IndexOptions,
  type IndexUnderTest,
  openIndex,
} from './index-under-test.ts';
import { Story } from './story.ts';

/** More than become a table. */
const TRANSFERS = 300;
const NEVER = Number.MAX_SAFE_INTEGER;

const fork = useFork();
const postgres = usePostgres();
const story = new Story(fork);
let proxy: Proxy;
let folder = '';
const open: IndexUnderTest[] = [];

/** Every kind of log that accounting wants, and logs that others want as well. */
beforeAll(async () => {
  const { exitEscrow, limitEscrow } = fork.deployment;
  await story.buy('alice', 6n * SHARE);
  await story.sell('alice', SHARE / 2n);
  await story.redeem('alice', SHARE / 4n);
  const filled = await story.exit('alice', SHARE, true);
  await story.fill(exitEscrow, filled, { shares: SHARE });
  await story.fill(limitEscrow, await story.limit('alice', 50n), { dollars: 50n });
  await story.sessionBuy(await story.agent('carol'), 50n, USD / 4n);
  await story.transfer('alice', MULTICALL3, SHARE);
  await transferMany();
});

async function transferMany(): Promise<void> {
  await write(fork.client, fork.accounts.bob.account, {
    address: MULTICALL3,
    abi: multicall3Abi,
    functionName: 'aggregate3',
    args: [
      Array.from({ length: TRANSFERS }, (_, index) => ({
        target: story.vault,
        allowFailure: false,
        callData: encodeFunctionData({
          abi: erc20Abi,
          functionName: 'transfer',
          args: [numberToHex(1_000 + (index % 7), { size: 20 }), BigInt(index + 1)],
        }),
      })),
    ],
  });
}

beforeEach(async () => {
  proxy = await startProxy(fork.url);
  folder = mkdtempSync(join(tmpdir(), 'bulk-'));
});
afterEach(async () => {
  for (const index of open.splice(0)) await index.close();
  await proxy.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function index(options: IndexOptions, deployment = fork.deployment): Promise<IndexUnderTest> {
  const opened = await openIndex(proxy.url, deployment, options);
  open.push(opened);
  return opened;
}

/** As the process makes them itself. */
async function ownRows(): Promise<string> {
  const own = await index({ heldFrom: NEVER });
  await own.catchUp();
  expect(own.takenApart()).toBe(0);
  return await own.dump();
}

const urlOf = async (kind: 'SQLite' | 'PostgreSQL', name: string): Promise<string> =>
  kind === 'SQLite' ? `file:${join(folder, `${name}.sqlite`)}` : await postgres.database(name);

type Log = { topics: string[]; address: string; blockNumber: string; blockHash: string };

const rewriteLogs = (change: (logs: Log[]) => unknown[]) =>
  proxy.on(
    'eth_getLogs',
    {},
    {
      fault: 'rewrite',
      rewrite: (reply: RpcReply): RpcReply => ({ ...reply, result: change(reply.result as Log[]) }),
    },
  );

test.for([
  ['SQLite', 'many', 7],
  ['PostgreSQL', 'few', 60],
] as const)('on %s, of %s ranges', async ([kind, count, maxRange]) => {
  const rows = await ownRows();
  expect(countsOf(rows)['share_transfer']).toBeGreaterThan(TRANSFERS);
  const database = await urlOf(kind, `bulk_${count}`);
  const threaded = await index({ database, heldFrom: 1, maxRange });
  await threaded.catchUp();
  expect(threaded.takenApart()).toBeGreaterThan(0);
  expect(await threaded.dump()).toBe(rows);
  // Once more over blocks that are there already, and beyond them.
  await story.transfer('alice', story.address('bob'), SHARE / 100n);
  await transferMany();
  await threaded.catchUp();
  expect(await threaded.dump()).toBe(await ownRows());
});

test('after a reorganisation', async () => {
  const threaded = await index({ heldFrom: 1 });
  await threaded.catchUp();
  await story.buy('alice', SHARE);
  await transferMany();
  await threaded.catchUp();
  const before = await threaded.dump();
  await rpc(fork.url, 'anvil_reorg', [2, []]);
  await fork.warp(1);
  await threaded.catchUp();
  const rows = await ownRows();
  expect(rows).not.toBe(before);
  expect(await threaded.dump()).toBe(rows);
});

test('none of a block near the head that the chain does not have', async () => {
  const forged = rewriteLogs((logs) =>
    logs.map((log) =>
      log.blockNumber === logs.at(-1)?.blockNumber
        ? { ...log, blockHash: addressWord(fork.deployment.registry) }
        : log,
    ),
  );
  const misled = await index({ heldFrom: 1 });
  await expect(misled.sync()).rejects.toThrow('that was replaced');
  expect(misled.takenApart()).toBeGreaterThan(0);
  expect(misled.indexer.caughtUp).toBe(false);
  forged.remove();
  await misled.catchUp();
  expect(await misled.dump()).toBe(await ownRows());
});

test('in the process, where logs do not tell their times', async () => {
  rewriteLogs((logs) => logs.map((log) => ({ ...log, blockTimestamp: undefined })));
  const timeless = await index({ heldFrom: 1 });
  await timeless.catchUp();
  expect(timeless.takenApart()).toBe(0);
  expect(await timeless.dump()).toBe(await ownRows());
});

test('in the process, with the whole history of a basket that was appended among them', async () => {
  const { baskets, registry } = fork.deployment;
  const appended = selectorOf(basketRegistryAbi, 'BasketAppended');
  const fewer = baskets.filter(({ vault }) => vault !== story.vault);
  const head = await fork.client.getBlock();
  const named = {
    address: registry.toLowerCase(),
    topics: [appended, addressWord(story.vault)],
    data: '0x',
    blockNumber: hexBlock(Number(head.number)),
    blockHash: head.hash,
    blockTimestamp: hexBlock(Number(head.timestamp)),
    transactionHash: addressWord(registry),
    logIndex: hexBlock(9_000),
  };
  proxy.on(
    'eth_getLogs',
    { where: ([asked]) => (asked as { address: string[] }).address.includes(named.address) },
    {
      fault: 'rewrite',
      rewrite: (reply: RpcReply): RpcReply => ({
        ...reply,
        result: [...(reply.result as Log[]).filter(({ topics }) => topics[0] !== appended), named],
      }),
    },
  );
  const grown = await index({ heldFrom: 1 }, { ...fork.deployment, baskets: fewer });
  await grown.catchUp();
  const transfers = (rows: string) => rows.split('\n').filter((row) => row.includes('"sender"'));
  expect(transfers(await grown.dump())).toEqual(transfers(await ownRows()));
});
