/** What discovery has read is kept the same by both stores, and an older keeper never overwrites a newer one's. */
import { afterEach, expect, test } from 'vitest';
import { Book } from '../../keeper/discovery/book.ts';
import { Checkpoints } from '../../keeper/discovery/checkpoint.ts';
import { deployment, STRANGER } from '../../keeper/firewall/fixture.ts';
import { storeMigrations, type StoreTables } from '../../keeper/journal/migrations.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { usePostgres } from '../harness/postgres.ts';

const postgres = usePostgres();
let store: Store<StoreTables> | null = null;

afterEach(async () => {
  await store?.close();
  store = null;
});

const position = (id: number, block: number) =>
  ({ kind: 'position', id: BigInt(id), block, log: 0 }) as const;
/** Past what four bytes hold. */
const BLOCK = 10_000_000_000;

test.each<[string, () => Promise<string>]>([
  ['SQLite', async () => 'file::memory:'],
  ['PostgreSQL', () => postgres.database('discovery')],
])('a checkpoint in %s', async (_, url) => {
  store = await openStore<StoreTables>({ url: await url(), migrations: storeMigrations });
  const checkpoints = new Checkpoints(store.db, deployment);
  expect(await checkpoints.load()).toBeNull();
  const book = new Book(1_000);
  for (let id = 1; id <= 450; id += 1) book.put(position(id, id));
  await checkpoints.save({ block: BLOCK, hash: '0xaa' }, book);
  book.remove('position:3');
  book.put(position(4, 77));
  await checkpoints.save({ block: BLOCK + 1, hash: '0xab' }, book);

  // What is behind writes nothing, and what it knows is written with its next block that is ahead.
  book.put(position(900, 78));
  await checkpoints.save({ block: BLOCK, hash: '0xac' }, book);
  const kept = await checkpoints.load();
  expect(kept).toMatchObject({ block: BLOCK + 1, hash: '0xab' });
  expect(kept?.items.length).toBe(449);
  expect(kept?.items.find(({ id }) => id === 4n)).toEqual(position(4, 77));
  await checkpoints.save({ block: BLOCK + 2, hash: '0xad' }, book);
  expect((await checkpoints.load())?.items.length).toBe(450);

  const other = new Checkpoints(store.db, { ...deployment, exitEscrow: STRANGER });
  expect(await other.load()).toBeNull();
  expect(await checkpoints.load()).toBeNull();
});
