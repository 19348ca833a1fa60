import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore, type Store } from './store.ts';
import { transact, write } from './writes.ts';

type Tables = { notes: { id: number; text: string } };

const migrations = {
  'writes-001-notes': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('notes')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('text', 'text', (column) => column.notNull())
        .execute();
    },
  },
};

describe('writes to one file', () => {
  let folder: string;
  let store: Store<Tables>;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'writes-'));
    store = await openStore<Tables>({ url: `file:${join(folder, 'x.sqlite')}`, migrations });
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const add = (id: number) =>
    write(store.db, (db) =>
      db
        .insertInto('notes')
        .values({ id, text: String(id) })
        .execute(),
    );
  /** By a connection of its own: what is on disk, not what this one has in hand. */
  const onDisk = async (): Promise<number[]> => {
    const other = await openStore<Tables>({
      url: `file:${join(folder, 'x.sqlite')}`,
      migrations,
      readOnly: true,
    });
    const rows = await other.db.selectFrom('notes').select('id').orderBy('id').execute();
    await other.close();
    return rows.map(({ id }) => id);
  };

  it('are committed before anyone is told, and together', async () => {
    const told: number[] = [];
    const all = [1, 2, 3].map(async (id) => {
      await add(id);
      told.push(id);
      expect(await onDisk()).toEqual([1, 2, 3]);
    });
    expect(await onDisk()).toEqual([]);
    expect(told).toEqual([]);
    await Promise.all(all);
  });

  it('fail one by one: what another wrote stays', async () => {
    await add(2);
    const outcomes = await Promise.allSettled([add(1), add(2), add(3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await onDisk()).toEqual([1, 2, 3]);
  });

  it('fail one by one among those of several statements too', async () => {
    await add(2);
    const both = (id: number) =>
      transact(store.db, async (trx) => {
        await trx.insertInto('notes').values({ id, text: 'a' }).execute();
        await trx.insertInto('notes').values({ id: 2, text: 'b' }).execute();
      });
    const rows = [10, 11, 2, 12].map((id) => ({ id, text: 'one of many' }));
    const many = write(store.db, (db) => db.insertInto('notes').values(rows).execute());
    const all = [add(1), add(2), both(20), many, add(3), add(2), both(21), add(4)];
    const outcomes = await Promise.allSettled(all);
    const isDone = outcomes.map(({ status }) => status === 'fulfilled');
    expect(isDone).toEqual([true, false, false, false, true, false, false, true]);
    expect(await onDisk()).toEqual([1, 2, 3, 4]);
  });

  it('of which one has SQLite undo everything fail together, and the next ones go through', async () => {
    const trap = sql`create trigger full before insert on notes when new.id = 13 begin select raise(rollback, 'full'); end`;
    await write(store.db, (db) => trap.execute(db));
    const outcomes = await Promise.allSettled([add(1), add(13), add(3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await onDisk()).toEqual([]);
    await add(4);
    expect(await onDisk()).toEqual([4]);
  });

  it('of several statements stay as a whole or not at all', async () => {
    const pair = transact(store.db, async (trx) => {
      await trx.insertInto('notes').values({ id: 7, text: 'a' }).execute();
      await trx.insertInto('notes').values({ id: 7, text: 'b' }).execute();
    });
    const outcomes = await Promise.allSettled([add(1), pair, add(3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await onDisk()).toEqual([1, 3]);
  });

  it('are all told when the commit itself fails, and the next ones go through', async () => {
    await write(store.db, (db) =>
      db.schema
        .createTable('children')
        .addColumn('note', 'integer')
        .addForeignKeyConstraint('children_note', ['note'], 'notes', ['id'], (constraint) =>
          constraint.deferrable().initiallyDeferred(),
        )
        .execute(),
    );
    const children = store.db as unknown as Kysely<{ children: { note: number } }>;
    const orphan = write(children, (db) =>
      db.insertInto('children').values({ note: 99 }).execute(),
    );
    const outcomes = await Promise.allSettled([add(1), orphan, add(3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await onDisk()).toEqual([]);
    await add(4);
    expect(await onDisk()).toEqual([4]);
  });

  it('of more than fit into one commit are all written', async () => {
    await Promise.all(Array.from({ length: 450 }, (_, id) => add(id)));
    expect(await onDisk()).toHaveLength(450);
  });
});
