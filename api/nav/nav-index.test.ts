import * as fc from 'fast-check';
import type { Transaction } from 'kysely';
import { type Address, createPublicClient, encodeAbiParameters, http } from 'viem';
import { describe, expect, it } from 'vitest';
import { LogReader } from '../../runtime/chain/log-reader.ts';
import { createLogger } from '../../runtime/logger.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { type Basket, Catalog } from '../catalog/catalog.ts';
import { type CheckpointTables, checkpointMigrations } from '../indexer/checkpoints.ts';
import { epochMigrations } from '../indexer/epoch.ts';
import type { IndexedLog } from '../indexer/projection.ts';
import { NavIndex } from './nav-index.ts';
import { navRows } from './nav-rows.ts';
import { type NavTables, navMigrations } from './nav-tables.ts';
import { PRICE_TOPICS } from './swap-logs.ts';

type Tables = NavTables & CheckpointTables;

const address = (digit: string): Address => `0x${digit.repeat(40)}`;
const GENESIS = 1_795_800_030;
const START_BLOCK = 100;
const Q96 = 1n << 96n;
const POOLS = [address('a'), address('b'), address('c')];
const deployment = {
  usdg: address('9'),
  weth: address('1'),
  wethUsdgPool: address('c'),
  startBlock: START_BLOCK,
};

const part = (token: string, pool: string | null, viaWeth: boolean) => ({
  symbol: token,
  token: address(token),
  decimals: 18,
  genesisUnits: 10n ** 18n,
  genesisDecimals: 18,
  pool: pool === null ? null : address(pool),
  viaWeth,
  targetWeight: null,
  routes: [],
  isUsdg: false,
});

const basket = (vault: string, genesisAt: number, constituents: Basket['constituents']) =>
  ({ ticker: vault, vault: address(vault), mgmtFeeBps: 95, genesisAt, constituents }) as Basket;

const catalog = new Catalog([
  basket('e', GENESIS, [part('2', 'a', false), part('3', 'b', true)]),
  // Another genesis, pools in common.
  basket('f', GENESIS + 3_000, [part('3', 'b', true)]),
]);

/** Asks nobody: everything that these tests need is in the store. */
const client = createPublicClient({ transport: http('http://127.0.0.1:1') });
const logger = createLogger('test', 'fatal');

async function open(): Promise<{ store: Store<Tables>; index: NavIndex }> {
  const store = await openStore<Tables>({
    url: 'file::memory:',
    migrations: { ...navMigrations, ...checkpointMigrations, ...epochMigrations },
  });
  await store.db
    .insertInto('nav_basket')
    .values(catalog.baskets.map(({ vault }) => ({ vault, opening: null })))
    .execute();
  await store.db
    .insertInto('nav_pool')
    .values(POOLS.map((pool) => ({ pool, sqrt_price: Q96.toString(), block: 50 })))
    .execute();
  const index = new NavIndex({
    write: (work) => store.db.transaction().execute(work),
    db: store.db,
    checkpoints: store.db,
    client,
    deployment: deployment as never,
    reader: new LogReader({ client, logger, maxRange: 10 }),
    logger,
  });
  await index.prepare(catalog);
  return { store, index };
}

async function apply(
  { store, index }: Awaited<ReturnType<typeof open>>,
  logs: readonly IndexedLog[],
): Promise<void> {
  const { prepare } = index.projection<Tables>();
  await store.db.transaction().execute(prepare(logs).write);
}

/** What the index does with ranges that are ready together. */
async function applyTogether(
  { store, index }: Awaited<ReturnType<typeof open>>,
  parts: readonly (readonly IndexedLog[])[],
): Promise<void> {
  const { prepare } = index.projection<Tables>();
  const [first, ...others] = parts.map((logs) => prepare(logs));
  const all = others.reduce((rows, next) => rows?.joined?.(next), first);
  if (all === undefined) throw new Error('the rows of NAV history are not joined');
  await store.db.transaction().execute(all.write);
}

async function rollBack(
  { store, index }: Awaited<ReturnType<typeof open>>,
  block: number,
): Promise<void> {
  const { rollback } = index.projection<Tables>();
  await store.db.transaction().execute((trx: Transaction<Tables>) => rollback(trx, block));
}

type Step = { pool: number; blocks: number; seconds: number; move: number };

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  pool: fc.integer({ min: 0, max: 2 }),
  blocks: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 30 }),
    fc.integer({ min: 1, max: 6_000 }),
  ),
  seconds: fc.integer({ min: 0, max: 1_000 }),
  move: fc.integer({ min: 50, max: 200 }),
});

function logsOf(steps: readonly Step[], from: { block: number; time: number }): IndexedLog[] {
  let { block, time } = from;
  return steps.map(({ pool, blocks, seconds, move }, logIndex) => {
    block += blocks;
    if (blocks > 0) time += seconds;
    return {
      address: POOLS[pool] ?? address('0'),
      topics: [PRICE_TOPICS[0] ?? '0x'],
      data: encodeAbiParameters(
        [
          { type: 'int256' },
          { type: 'int256' },
          { type: 'uint160' },
          { type: 'uint128' },
          { type: 'int24' },
        ],
        [0n, 0n, (Q96 * BigInt(move)) / 100n, 0n, 0],
      ),
      block,
      time,
      logIndex,
      blockHash: '0x',
      transactionHash: '0x',
    };
  });
}

/** Whole blocks at a time, as the indexer gives them; the tail of each part comes again with the next. */
function partsOf(
  logs: readonly IndexedLog[],
  cuts: readonly number[],
  overlap: number,
): IndexedLog[][] {
  const blocks = [...new Set(logs.map(({ block }) => block))];
  const ends = [...new Set(cuts.map((cut) => blocks[cut % Math.max(blocks.length, 1)] ?? 0))].sort(
    (a, b) => a - b,
  );
  let start = 0;
  return [...ends, Number.POSITIVE_INFINITY].map((end) => {
    const inPart = logs.filter(({ block }) => block > start - overlap && block <= end);
    start = end;
    return inPart;
  });
}

const cutsArbitrary = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 6 });
const start = { block: START_BLOCK, time: GENESIS - 900 };

describe('the rows of NAV history', () => {
  it('are the same however the logs are cut, whatever comes twice, and after a reorg', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(stepArbitrary, { minLength: 1, maxLength: 25 }),
        fc.array(stepArbitrary, { maxLength: 8 }),
        cutsArbitrary,
        cutsArbitrary,
        fc.integer({ min: 0, max: 200 }),
        fc.nat(24),
        async (steps, abandoned, cuts, cutsAfter, overlap, at) => {
          const logs = logsOf(steps, start);
          const fork = logs[at % logs.length] ?? { ...start };
          const kept = logs.filter(({ block }) => block <= fork.block);
          // A branch of other swaps that the chain leaves again, no deeper than a reorg may be.
          const branch = logsOf(abandoned, fork)
            .filter(({ block }) => block > fork.block && block < fork.block + 5_000)
            .map((log) => ({ ...log, logIndex: log.logIndex + 1_000 }));
          // The chain goes on beyond where the branch ended.
          const tip = Math.max(
            ...logs.map(({ block }) => block),
            ...branch.map(({ block }) => block),
          );
          const end = logsOf([{ pool: 0, blocks: 1, seconds: 5_000, move: 100 }], {
            block: tip,
            time: Math.max(...logs.map(({ time }) => time)),
          });
          const whole = [...logs, ...end];

          const fresh = await open();
          await apply(fresh, whole);
          const other = await open();
          for (const some of partsOf(kept, cuts, overlap)) await apply(other, some);
          await apply(other, branch);
          await rollBack(other, fork.block);
          for (const some of partsOf(whole, cutsAfter, overlap)) await apply(other, some);
          expect(await navRows(other.store.db)).toEqual(await navRows(fresh.store.db));
          await fresh.store.close();
          await other.store.close();
        },
      ),
      { numRuns: 20 },
    );
  });

  it('are the same where ranges are written together', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(stepArbitrary, { minLength: 1, maxLength: 25 }),
        cutsArbitrary,
        cutsArbitrary,
        async (steps, cuts, cutsAfter) => {
          const logs = logsOf(steps, start);
          const fresh = await open();
          await apply(fresh, logs);
          const other = await open();
          await applyTogether(other, partsOf(logs.slice(0, steps.length / 2), cuts, 0));
          await applyTogether(other, partsOf(logs, cutsAfter, 0));
          expect(await navRows(other.store.db)).toEqual(await navRows(fresh.store.db));
          await fresh.store.close();
          await other.store.close();
        },
      ),
      { numRuns: 12 },
    );
  });

  it('take more swaps of one range than a function takes arguments, and none of the next with them', async () => {
    const scene = await open();
    const [swap] = logsOf([{ pool: 0, blocks: 1, seconds: 1_000, move: 120 }], start);
    if (swap === undefined) throw new Error('there is no swap');
    const many = Array.from({ length: 140_000 }, (_, logIndex) => ({ ...swap, logIndex }));
    await apply(scene, many);
    const kept = await scene.store.db
      .selectFrom('nav_swap')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirst();
    expect(kept?.count).toBe(many.length);
    const { prepare } = scene.index.projection<Tables>();
    expect(prepare(many).joined).toBeUndefined();
    expect(prepare([swap]).joined).toBeDefined();
    await scene.store.close();
  });

  it('count a swap that a lagging node hid and shows after later ones', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(stepArbitrary, { minLength: 2, maxLength: 12 }),
        fc.nat(11),
        async (steps, hidden) => {
          const near = steps.map((step) => ({ ...step, blocks: step.blocks % 30 }));
          const logs = logsOf(near, { ...start, time: GENESIS - 60 });
          const block = logs[hidden % logs.length]?.block;
          const fresh = await open();
          await apply(fresh, logs);
          const other = await open();
          await apply(
            other,
            logs.filter((log) => log.block !== block),
          );
          await apply(other, logs);
          expect(await navRows(other.store.db)).toEqual(await navRows(fresh.store.db));
          await fresh.store.close();
          await other.store.close();
        },
      ),
      { numRuns: 12 },
    );
  });

  it('are dropped as a whole by a reorg deeper than swaps are kept', async () => {
    const scene = await open();
    const far = logsOf(
      Array.from({ length: 40 }, (_, index) => ({
        pool: index % 3,
        blocks: 1_000,
        seconds: 100,
        move: 100 + index,
      })),
      start,
    );
    await apply(scene, far);
    const kept = await scene.store.db.selectFrom('nav_swap').selectAll().execute();
    expect(kept.length).toBeLessThan(20);
    expect(scene.index.basketOf(address('e'))).not.toBeNull();
    await rollBack(scene, START_BLOCK + 2_500);
    expect(await navRows(scene.store.db)).toEqual({
      baskets: [],
      spans: [],
      pools: [],
      swaps: [],
      tape: [],
    });
    // Not complete: nobody is told a NAV out of it.
    expect(scene.index.basketOf(address('e'))).toBeNull();
    await scene.store.close();
  });
});
