import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from './errors.ts';
import { type Migrations, openStore, type Store } from './store.ts';
import { transact } from './writes.ts';

type Tables = {
  note: { id: number; text: string };
  child: { note: number };
};

const migrations: Migrations = {
  'note-001': {
    up: async (db) => {
      await db.schema
        .createTable('note')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('text', 'text', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('child')
        .addColumn('note', 'integer')
        .addForeignKeyConstraint('child_note', ['note'], 'note', ['id'], (constraint) =>
          constraint.deferrable().initiallyDeferred(),
        )
        .execute();
    },
  },
};

/** More than a small statement binds. */
const LONG = 'ä'.repeat(300_000);

let folder = '';
let store: Store<Tables>;
const open = () => openStore<Tables>({ url: `file:${folder}/a.sqlite`, migrations });
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'off-thread-'));
  store = await open();
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const ids = async (): Promise<number[]> =>
  (await store.db.selectFrom('note').select('id').orderBy('id').execute()).map(({ id }) => id);

describe('a large write', () => {
  it('leaves the event loop free, and is there whole when its promise resolves', async () => {
    const order: string[] = [];
    const written = store.db
      .insertInto('note')
      .values({ id: 1, text: LONG })
      .execute()
      .then(() => order.push('written'));
    setImmediate(() => order.push('something else'));
    await written;
    expect(order).toEqual(['something else', 'written']);
    const other = await open();
    expect(await other.db.selectFrom('note').selectAll().execute()).toEqual([
      { id: 1, text: LONG },
    ]);
    await other.close();
  });

  it('is one with the small ones of its transaction: all or nothing', async () => {
    const failing = store.db.transaction().execute(async (trx) => {
      await trx.insertInto('note').values({ id: 1, text: 'small' }).execute();
      await trx.insertInto('note').values({ id: 2, text: LONG }).execute();
      await trx.insertInto('note').values({ id: 2, text: LONG }).execute();
    });
    await expect(failing).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' });
    expect(await ids()).toEqual([]);
    await store.db.transaction().execute(async (trx) => {
      await trx.insertInto('note').values({ id: 1, text: 'small' }).execute();
      await trx.insertInto('note').values({ id: 2, text: LONG }).execute();
    });
    expect(await ids()).toEqual([1, 2]);
  });

  it('whose commit fails is undone, and the next one goes through', async () => {
    const orphan = store.db.transaction().execute(async (trx) => {
      await trx.insertInto('note').values({ id: 1, text: LONG }).execute();
      await trx.insertInto('child').values({ note: 99 }).execute();
    });
    await expect(orphan).rejects.toThrow(/FOREIGN KEY/);
    expect(await ids()).toEqual([]);
    await store.db.insertInto('note').values({ id: 3, text: LONG }).execute();
    expect(await ids()).toEqual([3]);
  });

  it('lets nobody see half of it: who asks meanwhile is answered after its commit', async () => {
    const writing = transact(store.db, async (trx) => {
      for (const id of [1, 2, 3]) await trx.insertInto('note').values({ id, text: LONG }).execute();
    });
    // The commit begins in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    const seen = Promise.all([ids(), ids()]);
    await writing;
    expect(await seen).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
  });

  it('of a store that is closed meanwhile is there or not, and ends either way', async () => {
    const ends = store.db.insertInto('note').values({ id: 1, text: LONG }).execute();
    await store.close();
    const [outcome] = await Promise.allSettled([ends]);
    store = await open();
    expect(await ids()).toEqual(outcome.status === 'fulfilled' ? [1] : []);
  });

  it('tells which file is damaged and what to do, as a small one does', async () => {
    const rows = Array.from({ length: 100 }, (_, id) => ({ id, text: 'x'.repeat(400) }));
    await store.db.insertInto('note').values(rows).execute();
    await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
    await store.close();
    const path = `${folder}/a.sqlite`;
    const whole = readFileSync(path);
    // The root of the table stays.
    writeFileSync(path, Buffer.from(whole).fill(7, whole.length - 6 * 4_096));
    store = await open();
    const reading = sql`select * from note where text <> ${LONG}`.execute(store.db);
    await expect(reading).rejects.toThrow(StoreError);
    await expect(reading).rejects.toThrow(`${path} is damaged`);
  });

  it('says how many rows it wrote', async () => {
    const one = { id: 1, text: LONG };
    const insert = () =>
      store.db
        .insertInto('note')
        .values(one)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
    const update = (id: number) =>
      store.db
        .updateTable('note')
        .set({ text: `${LONG}.` })
        .where('id', '=', id);
    expect((await insert()).numInsertedOrUpdatedRows).toBe(1n);
    expect((await insert()).numInsertedOrUpdatedRows).toBe(0n);
    expect((await update(1).executeTakeFirstOrThrow()).numUpdatedRows).toBe(1n);
    expect((await update(2).executeTakeFirstOrThrow()).numUpdatedRows).toBe(0n);
  });

  it('refused because another process writes is refused alone: the next one goes through', async () => {
    await sql`pragma busy_timeout = 50`.execute(store.db);
    const other = new Database(`${folder}/a.sqlite`);
    const put = (id: number, text: string) =>
      transact(store.db, (trx) => trx.insertInto('note').values({ id, text }).execute());
    const alone = (id: number, text: string) =>
      store.db.insertInto('note').values({ id, text }).execute();
    for (const [id, write, text] of [
      [1, put, 'small'],
      [2, put, LONG],
      [3, alone, LONG],
      [4, alone, 'small'],
    ] as const) {
      other.exec('begin immediate');
      await expect(write(id, text)).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
      other.exec('rollback');
      await put(id, 'again');
    }
    other.close();
    expect(await ids()).toEqual([1, 2, 3, 4]);
  });

  it('of another process holds up no one who only reads', async () => {
    await sql`pragma busy_timeout = 50`.execute(store.db);
    await store.db.insertInto('note').values({ id: 1, text: 'small' }).execute();
    const other = new Database(`${folder}/a.sqlite`);
    other.exec('begin immediate');
    const seen = await store.db
      .transaction()
      .setAccessMode('read only')
      .execute((trx) => trx.selectFrom('note').select('id').execute());
    expect(seen).toEqual([{ id: 1 }]);
    other.exec('rollback');
    other.close();
  });

  it('of half a character is refused, small or large', async () => {
    for (const text of ['\ud800', `${LONG}\ud800`]) {
      await expect(store.db.insertInto('note').values({ id: 1, text }).execute()).rejects.toThrow(
        'not Unicode',
      );
    }
    expect(await ids()).toEqual([]);
  });

  it('closed meanwhile leaves no lock on the file', async () => {
    for (let id = 0; id < 40; id += 1) {
      const ends = transact(store.db, (trx) =>
        trx.insertInto('note').values({ id, text: LONG }).execute(),
      );
      for (let turn = 0; turn < id % 4; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      const closed = store.close();
      await Promise.allSettled([ends, closed]);
      store = await open();
      await sql`pragma busy_timeout = 0`.execute(store.db);
      await store.db
        .insertInto('child')
        .values({ note: id })
        .onConflict((c) => c.doNothing())
        .execute()
        .catch((error: unknown) => expect(String(error)).toMatch(/FOREIGN KEY/));
    }
  });

  it.each(['small', LONG])('that finds the disk full says so', async (text) => {
    await sql`pragma max_page_count = 20`.execute(store.db);
    const filling = (async () => {
      for (let id = 0; id < 1_000; id += 1) {
        await transact(store.db, (trx) =>
          trx
            .insertInto('note')
            .values({ id, text: text.padEnd(2_000) })
            .execute(),
        );
      }
    })();
    await expect(filling).rejects.toMatchObject({ code: 'SQLITE_FULL' });
    const together = Array.from({ length: 10 }, (_, at) =>
      transact(store.db, (trx) =>
        trx
          .insertInto('note')
          .values({ id: 2_000 + at, text: text.padEnd(60_000) })
          .execute(),
      ),
    );
    for (const outcome of await Promise.allSettled(together)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'SQLITE_FULL' } });
    }
  });
});
