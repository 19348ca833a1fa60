import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  BlockNotFoundError,
  type Hex,
  keccak256,
  type PublicClient,
  RpcRequestError,
  toHex,
} from 'viem';
import { afterEach, expect, it, vi } from 'vitest';
import { createLogger } from '../../runtime/logger.ts';
import { openStore } from '../../runtime/store/store.ts';
import { type ApiTables, apiMigrations } from '../tables.ts';
import { Indexer } from './indexer.ts';
import { VaultSet } from './vault-set.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const hashOf = (chain: string, block: number): Hex => keccak256(toHex(`${chain} ${block}`));

const tooManyCalls = (): Error =>
  new RpcRequestError({ body: {}, url: '', error: { code: 429, message: 'slow down' } });

/** An index of a chain without logs, whose store refuses what it is told to. */
async function world(maxRange: number) {
  const state = {
    chain: 'one',
    parted: 0,
    head: 30,
    writes: 0,
    fails: false,
    /** Questions for logs in all, those that are still answered, and how many at once. */
    logs: 0,
    limit: Infinity,
    atOnce: 0,
    peak: 0,
  };
  const hash = (block: number) => hashOf(block <= state.parted ? 'one' : state.chain, block);
  const getBlock = async (which: { blockTag?: string; blockNumber?: bigint; blockHash?: Hex }) => {
    await nextTurn();
    const numbers = Array.from({ length: state.head + 1 }, (_, block) => block);
    const block =
      which.blockHash === undefined
        ? Number(which.blockNumber ?? state.head)
        : numbers.findLastIndex((each) => hash(each) === which.blockHash);
    if (block < 0 || block > state.head) throw new BlockNotFoundError({});
    return { number: BigInt(block), hash: hash(block), parentHash: hash(block - 1) };
  };
  const request = async () => {
    state.logs += 1;
    if (state.limit <= 0) throw tooManyCalls();
    state.limit -= 1;
    state.atOnce += 1;
    state.peak = Math.max(state.peak, state.atOnce);
    await nextTurn();
    state.atOnce -= 1;
    await nextTurn();
    // What is asked for ahead is slow, so that the write comes first.
    while (state.fails && state.logs > 6 && state.writes < 2) await nextTurn();
    return [];
  };
  const store = await openStore<ApiTables>({ url: 'file::memory:', migrations: apiMigrations });
  const indexer = new Indexer<ApiTables>({
    client: { getBlock, request } as unknown as PublicClient,
    db: store.db,
    write: async (work) => {
      state.writes += 1;
      // The first one is of the identity.
      if (state.fails && state.writes > 1) throw new Error('disk full');
      return await store.db.transaction().execute(work);
    },
    projections: [],
    vaults: new VaultSet({ registry: `0x${'aa'.repeat(20)}`, baskets: [] }),
    logger: createLogger('api', 'fatal'),
    onHead: () => undefined,
    startBlock: 5,
    identity: 'one',
    maxRange,
    overlap: 5,
    maxLagMs: 60_000,
  });
  return { state, indexer, close: () => store.close() };
}

it('whose first run was not written reads the chain that is there by then', async () => {
  const { state, indexer, close } = await world(10);
  state.fails = true;
  await expect(indexer.sync()).rejects.toThrow('disk full');
  Object.assign(state, { chain: 'two', parted: 8, head: 1_000, fails: false });
  await indexer.sync();
  expect(indexer.height).toBe(1_000);
  await close();
});

it('of a run that failed asks for nothing any more', async () => {
  const { state, indexer, close } = await world(4);
  Object.assign(state, { head: 300, fails: true });
  await expect(indexer.sync()).rejects.toThrow('disk full');
  const { logs } = state;
  for (let turn = 0; turn < 200; turn += 1) await nextTurn();
  expect(state.logs).toBe(logs);
  await close();
});

it('after a limit of calls asks for one range after the other, and waits ever longer until a run comes through', async () => {
  const { state, indexer, close } = await world(4);
  state.head = 200;
  const pauses: number[] = [];
  for (let run = 0; run < 5; run += 1) {
    state.limit = 0;
    await expect(indexer.sync()).rejects.toThrow();
    pauses.push(indexer.pauseMs);
  }
  expect(pauses).toEqual([500, 1_000, 2_000, 2_000, 2_000]);
  Object.assign(state, { limit: Infinity, peak: 0 });
  await indexer.sync();
  expect([indexer.height, state.peak, indexer.pauseMs]).toEqual([200, 1, 0]);
  state.head = 400;
  await indexer.sync();
  expect([indexer.height, state.peak]).toEqual([400, 4]);
  await close();
});

it('asks for logs once a second under a head that stands, and at once under another or of rows opened anew', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  let nowMs = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const pass = (ms: number) => {
    nowMs += ms;
    vi.setSystemTime(Date.now() + ms);
  };
  const { state, indexer, close } = await world(100);
  const asked = async (passedMs: number): Promise<number> => {
    pass(passedMs);
    const { logs } = state;
    await indexer.sync();
    expect(indexer.readiness()).toEqual({ ok: true });
    return state.logs - logs;
  };
  expect(await asked(0)).toBe(1);
  expect([await asked(0), await asked(500), await asked(499)]).toEqual([0, 0, 0]);
  expect([await asked(1), await asked(999), await asked(1)]).toEqual([1, 0, 1]);
  // Far from the last questions, the rows are known to be of the head that was seen just now.
  pass(60_001);
  expect(indexer.readiness()).toMatchObject({ ok: false });
  expect([await asked(0), await asked(999)]).toEqual([1, 0]);
  Object.assign(state, { chain: 'two', parted: 28 });
  expect([await asked(0), await asked(1)]).toEqual([1, 0]);
  state.head += 1;
  expect([await asked(0), await asked(1)]).toEqual([1, 0]);
  indexer.reopen();
  expect([await asked(0), await asked(1)]).toEqual([1, 0]);
  await close();
});
