import * as fc from 'fast-check';
import type { Transaction } from 'kysely';
import { type Address, type Hex, numberToHex } from 'viem';
import { beforeEach, expect, it } from 'vitest';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { within } from '../../runtime/deadline.ts';
import { HeldLogs } from '../../runtime/chain/held-logs.ts';
import { indexedLogs, standing, timesTold } from '../../runtime/chain/read-logs.ts';
import { createLogger } from '../../runtime/logger.ts';
import { openStore } from '../../runtime/store/store.ts';
import { type ApiTables, apiMigrations } from '../tables.ts';
import { type BulkOrder, bulkLogs, logThread, processThread } from './bulk-logs.ts';
import { apiProjections } from './projections.ts';
import type { Told } from './range-reader.ts';
import { allOf, type Prepared, Routing } from './routing.ts';
import { VaultSet } from './vault-set.ts';

const address = (number: number): Address => numberToHex(number, { size: 20 });
const CONTRACTS = [
  'usdg',
  'weth',
  'multicall3',
  'uniswapV3Factory',
  'swapRouter02',
  'quoterV2',
  'wethUsdgPool',
  'pause',
  'registry',
  'oracle',
  'zapper',
  'exitEscrow',
  'limitEscrow',
  'scheduleEscrow',
  'coverMarket',
  'accountFactory',
  'sessionModule',
  'coverModule',
];
const VAULTS = [address(101), address(102)];
const deployment = {
  chainId: 4663,
  startBlock: 1,
  ...Object.fromEntries(CONTRACTS.map((name, index) => [name, address(index + 1)])),
  baskets: VAULTS.map((vault, index) => ({ ticker: `B${index}`, vault })),
} as unknown as Deployment;

const logger = createLogger('test', 'fatal');
const vaults = new VaultSet(deployment);
const routing = new Routing(apiProjections(deployment), vaults, vaults.known);
const bulk = (isFile: boolean) => bulkLogs<ApiTables>({ deployment, isFile, logger });

beforeEach(() => processThread.start());

type RawLog = {
  address: Address;
  topics: Hex[];
  data: Hex;
  blockNumber: Hex;
  blockTimestamp?: Hex;
  blockHash: Hex;
  logIndex: Hex;
  transactionHash: Hex;
  removed: boolean;
};

const heldText = (text: string): HeldLogs =>
  new HeldLogs(new Uint8Array(Buffer.from(text)), { from: 0, to: Number.POSITIVE_INFINITY });

const held = (logs: readonly unknown[]): HeldLogs =>
  heldText(JSON.stringify({ jsonrpc: '2.0', id: 1, result: logs }));

/** The rows that the process itself makes. */
function ownRows(raw: readonly RawLog[]): Prepared<ApiTables> {
  const found = standing(raw as never);
  return routing.prepare(indexedLogs(found, timesTold(found).times));
}

const rowsOf = ({ logs, made }: Told<ApiTables>) => routing.prepare(logs, made);

const word = (value: number): string => numberToHex(value, { size: 32 }).slice(2);

function transfer(index: number): RawLog {
  const block = 10 + Math.floor(index / 100);
  return {
    address: VAULTS[index % 2] ?? address(0),
    topics: [
      routing.filter.topics.find((topic) => topic.startsWith('0xddf252ad')) ?? '0x',
      `0x${word(1 + (index % 5))}`,
      `0x${word(30 + (index % 7))}`,
    ],
    data: `0x${word(1_000 + index)}`,
    blockNumber: numberToHex(block),
    blockTimestamp: numberToHex(block * 10),
    blockHash: `0x${word(block)}`,
    logIndex: numberToHex(index % 100),
    transactionHash: `0x${word(block * 100 + Math.floor((index % 100) / 3))}`,
    removed: false,
  };
}

async function written(rows: Prepared<ApiTables>): Promise<string> {
  const store = await openStore<ApiTables>({ url: 'file::memory:', migrations: apiMigrations });
  try {
    await store.db.transaction().execute(async (trx: Transaction<ApiTables>) => {
      for (const each of allOf([rows])) await each.write(trx);
    });
    const tables = await store.db.introspection.getTables();
    const dumps = tables.map(async ({ name }) => [
      name,
      await store.db
        .selectFrom(name as keyof ApiTables)
        .selectAll()
        .execute(),
    ]);
    return JSON.stringify(await Promise.all(dumps));
  } finally {
    await store.close();
  }
}

it('makes the rows that the process itself makes, for a file and for PostgreSQL', async () => {
  for (const count of [1, 249, 250, 3_000]) {
    const raw = Array.from({ length: count }, (_, index) => transfer(index)).reverse();
    const own = await written(ownRows(raw));
    expect(own).toContain('1000');
    for (const isFile of [true, false]) {
      const told = await bulk(isFile)(held(raw), routing);
      if (told === null) throw new Error('it was not taken apart');
      expect(told).toMatchObject({ logs: [], count });
      expect(told.blocks).toHaveLength(Math.ceil(count / 100));
      expect(await written(rowsOf(told))).toBe(own);
    }
  }
});

/** What is written, or the fault that keeps it from being: other projections refuse what no contract emits. */
async function outcomeOf(prepare: () => Prepared<ApiTables>): Promise<string> {
  try {
    return await written(prepare());
  } catch (error) {
    return String(error);
  }
}

/** Any contract's event from any contract, with whatever in it, about few parties so that they meet. */
const anyLog = fc.record({
  emitter: fc.constantFrom(...CONTRACTS.map((_, index) => address(index + 1)), ...VAULTS),
  topic: fc.constantFrom(...routing.filter.topics),
  topics: fc.array(fc.constantFrom(1, 11, 12, 101, 102, 103), { minLength: 3, maxLength: 3 }),
  words: fc.array(fc.constantFrom(0, 1, 5, 7, 101, 102), { minLength: 8, maxLength: 8 }),
  isRemoved: fc.constantFrom(true, false, false, false, false),
  place: fc.nat({ max: 400 }),
});

it('tells of any logs what the process itself tells, or nothing', async () => {
  let taken = 0;
  let whole = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyLog, { maxLength: 40 }), fc.boolean(), async (drawn, isFile) => {
      const raw = drawn.map(
        ({ emitter, topic, topics, words, isRemoved, place }, index): RawLog => ({
          ...transfer(place),
          address: emitter,
          topics: [topic, ...topics.map((value): Hex => `0x${word(value)}`)],
          data: `0x${words.map(word).join('')}`,
          logIndex: numberToHex(index),
          removed: isRemoved,
        }),
      );
      const answer = held(raw);
      const bytes = Buffer.from(answer.bytes);
      const told = await bulk(isFile)(answer, routing);
      if (told === null) {
        expect(bytes.equals(answer.bytes)).toBe(true);
        return;
      }
      taken += 1;
      const outcome = await outcomeOf(() => rowsOf(told));
      expect(outcome).toBe(await outcomeOf(() => ownRows(raw)));
      if (outcome.startsWith('[')) whole += 1;
    }),
    { numRuns: 80 },
  );
  expect(taken).toBeGreaterThan(60);
  expect(whole).toBeGreaterThan(40);
});

it('leaves to the process what needs more reading, or is no list of logs', async () => {
  const logs = [transfer(1), transfer(2)];
  const { blockTimestamp: _, ...timeless } = transfer(300);
  const appended: RawLog = {
    ...transfer(3),
    address: vaults.registry,
    topics: [vaults.topics[0] ?? '0x', `0x${word(103)}`, `0x${word(0)}`],
  };
  const short = { ...transfer(4), topics: transfer(4).topics.slice(0, 2) };
  const take = bulk(true);
  for (const each of [
    [...logs, timeless],
    [...logs, appended],
    [...logs, short],
    [...logs, null],
    [...logs, { ...transfer(5), data: '0x' }],
  ]) {
    const answer = held(each);
    expect(await take(answer, routing)).toBeNull();
    expect(JSON.parse(Buffer.from(answer.bytes).toString()).result).toHaveLength(3);
  }
  // One that is known already takes nothing else along.
  const known: RawLog = { ...appended, topics: [vaults.topics[0] ?? '0x', `0x${word(101)}`] };
  expect(await take(held([...logs, known]), routing)).toMatchObject({ count: 3 });
  const texts = ['{"result":[', '{"result":[],"error":{"code":1,"message":"no"}}', '{}'];
  for (const text of texts) {
    const answer = heldText(text);
    expect(await take(answer, routing)).toBeNull();
    expect(Buffer.from(answer.bytes).toString()).toBe(text);
  }
});

it('counts a log once that a node tells twice', async () => {
  const logs = [transfer(1), transfer(2), transfer(1), transfer(2)];
  const told = await bulk(true)(held(logs), routing);
  expect(told?.count).toBe(2);
  if (told === null) throw new Error('it was not taken apart');
  expect(await written(rowsOf(told))).toBe(await written(ownRows(logs.slice(0, 2))));
});

it('names every block that logs are of, and leaves two at one height to the process', async () => {
  const logs = [transfer(1), transfer(3), transfer(101)];
  const told = await bulk(true)(held(logs), routing);
  expect(told?.blocks).toEqual([
    { block: 10, blockHash: transfer(1).blockHash },
    { block: 11, blockHash: transfer(101).blockHash },
  ]);
  const other = { ...transfer(2), blockHash: `0x${word(99)}` };
  expect(await bulk(true)(held([...logs, other]), routing)).toBeNull();
});

it('leaves everything to the process while its thread starts, and once it broke', async () => {
  const small = logThread({ maxOldGenerationSizeMb: 12, maxYoungGenerationSizeMb: 2 });
  let orders = 0;
  const run = async (order: BulkOrder) => {
    orders += 1;
    return await small.run(order);
  };
  const take = bulkLogs<ApiTables>({ deployment, isFile: true, logger, thread: { run } });
  const answer = held([transfer(1)]);
  expect(await take(answer, routing)).toBeNull();
  await expect(small.start()).rejects.toMatchObject({ code: 'ERR_WORKER_OUT_OF_MEMORY' });
  expect(await take(answer, routing)).toBeNull();
  expect(await take(answer, routing)).toBeNull();
  expect(orders).toBe(2);
  expect(answer.bytes.length).toBeGreaterThan(0);
});

/** A thread with room for its own code, which differs from one Node to the next, and little more. */
async function justStarts(): Promise<ReturnType<typeof logThread>> {
  for (let megabytes = 20; megabytes <= 80; megabytes += 5) {
    const made = logThread({ maxOldGenerationSizeMb: megabytes, maxYoungGenerationSizeMb: 2 });
    if (
      await made.start().then(
        () => true,
        () => false,
      )
    )
      return made;
  }
  throw new Error('no thread starts');
}

it('keeps nobody waiting for a thread that broke with the answer of another', async () => {
  const small = await justStarts();
  const take = bulkLogs<ApiTables>({ deployment, isFile: true, logger, thread: small });
  const many = Array.from({ length: 12_000 }, (_, index) => transfer(index));
  const first = take(held(many), routing);
  const next = held([transfer(1)]);
  const second = take(next, routing);
  await expect(first).rejects.toMatchObject({ code: 'ERR_WORKER_OUT_OF_MEMORY' });
  expect(await within(second, 5_000, 'the other answer')).toBeNull();
  expect(next.bytes.length).toBeGreaterThan(0);
}, 30_000);

it('says so where a thread breaks with an answer in its hands', async () => {
  let orders = 0;
  const run = async ({ bytes }: BulkOrder): Promise<never> => {
    orders += 1;
    structuredClone(bytes, { transfer: [bytes.buffer] });
    throw new Error('out of memory');
  };
  const take = bulkLogs<ApiTables>({ deployment, isFile: true, logger, thread: { run } });
  await expect(take(held([transfer(1)]), routing)).rejects.toThrow('out of memory');
  expect(await take(held([transfer(1)]), routing)).toBeNull();
  expect(orders).toBe(1);
});
