/** A tape held in memory is that of the store, whatever became of the transaction that changed it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { beginEpoch, epochMigrations } from '../indexer/epoch.ts';
import type { Swap } from './minutes.ts';
import { type NavTables, navMigrations } from './nav-tables.ts';
import { HeldTape, loadTape, writeTape } from './tape-store.ts';
import { Tape } from './tape.ts';

let store: Store<NavTables>;
let held: HeldTape;

beforeEach(async () => {
  store = await openStore<NavTables>({
    url: 'file::memory:',
    migrations: { ...navMigrations, ...epochMigrations },
  });
  held = new HeldTape();
});
afterEach(() => store.close());

const swap = (block: number): Swap => ({
  pool: '0xaa',
  block,
  logIndex: 0,
  time: 1_000_000 + block,
  sqrtPrice: BigInt(block),
});

const add = (block: number, fault?: Error): Promise<void> =>
  store.db.transaction().execute(async (trx) => {
    await held.change(trx, (tape) => {
      tape.add([swap(block)]);
      return Promise.resolve({ tag: 'added', swaps: [swap(block)] });
    });
    if (fault !== undefined) throw fault;
  });

const blocksHeld = async (): Promise<number[]> => {
  let blocks: number[] = [];
  await store.db.transaction().execute((trx) =>
    held.change(trx, (tape) => {
      blocks = tape.swaps.map(({ block }) => block);
      return Promise.resolve({ tag: 'same' });
    }),
  );
  return blocks;
};
const blocksStored = async () => (await loadTape(store.db)).swaps.map(({ block }) => block);

test('after a transaction that is undone', async () => {
  await add(1);
  await expect(add(2, new Error('undone'))).rejects.toThrow('undone');
  expect(await blocksHeld()).toEqual([1]);
  await add(3);
  expect(await blocksHeld()).toEqual([1, 3]);
  expect(await blocksStored()).toEqual([1, 3]);
});

test('after a change that fails half way', async () => {
  await add(1);
  const failing = store.db.transaction().execute((trx) =>
    held.change(trx, (tape) => {
      tape.add([swap(2)]);
      return Promise.reject(new Error('half way'));
    }),
  );
  await expect(failing).rejects.toThrow('half way');
  expect(await blocksHeld()).toEqual([1]);
});

test('after another process wrote, and after what it was is gone', async () => {
  await add(1);
  await store.db.transaction().execute((trx) => writeTape(trx, new Tape(new Map(), [swap(7)])));
  expect(await blocksHeld()).toEqual([7]);
  await store.db.transaction().execute((trx) =>
    held.change(trx, async () => {
      await trx.deleteFrom('nav_swap').execute();
      await beginEpoch(trx, 'tape');
      return { tag: 'gone' };
    }),
  );
  expect(await blocksHeld()).toEqual([]);
});

test('after a cut', async () => {
  await add(1);
  await add(2);
  await store.db.transaction().execute((trx) =>
    held.change(trx, (tape) => {
      tape.cut(1);
      return Promise.resolve({ tag: 'cut', above: 1 });
    }),
  );
  expect(await blocksHeld()).toEqual([1]);
  expect(await blocksStored()).toEqual([1]);
});
