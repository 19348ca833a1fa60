import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Generated, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from './errors.ts';
import { type Migrations, openStore } from './store.ts';

type Tables = { note: { id: string; amount: string; at: number; text: string | null } };

const migrations: Migrations = {
  'note-001': {
    up: async (db) => {
      await db.schema
        .createTable('note')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('amount', 'text', (column) => column.notNull())
        .addColumn('at', 'bigint', (column) => column.notNull())
        .addColumn('text', 'text')
        .execute();
    },
  },
};

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('openStore on SQLite', () => {
  it('creates the folder, migrates once and keeps rows across a reopening', async () => {
    const url = `file:${folder}/deep/er/a.sqlite`;
    const amount = (2n ** 256n - 1n).toString();
    const first = await openStore<Tables>({ url, migrations });
    await first.db
      .insertInto('note')
      .values({ id: '1', amount, at: 1_764_000_000_123, text: null })
      .execute();
    await first.close();
    const second = await openStore<Tables>({ url, migrations });
    const rows = await second.db.selectFrom('note').selectAll().execute();
    expect(rows).toEqual([{ id: '1', amount, at: 1_764_000_000_123, text: null }]);
    await second.close();
    await second.close();
  });

  it('leaves nothing of a migration that broke off, which then runs whole', async () => {
    const url = `file:${folder}/a.sqlite`;
    await (await openStore<Tables>({ url, migrations })).close();
    let breaks = true;
    const renaming: Migrations = {
      ...migrations,
      'note-002': {
        up: async (db) => {
          await sql`alter table note rename to note_before`.execute(db);
          if (breaks) throw new Error('the disk is full');
          await sql`alter table note_before rename to note`.execute(db);
        },
      },
    };
    await expect(openStore<Tables>({ url, migrations: renaming })).rejects.toThrow('note-002');
    breaks = false;
    const again = await openStore<Tables>({ url, migrations: renaming });
    expect(await again.db.selectFrom('note').selectAll().execute()).toEqual([]);
    await again.close();
  });

  it('read only makes no file, refuses every write, and refuses the rows of an older version', async () => {
    const url = `file:${folder}/a.sqlite`;
    const none = await openStore<Tables>({ url, migrations, readOnly: true });
    expect(await none.db.selectFrom('note').selectAll().execute()).toEqual([]);
    await none.close();
    expect(existsSync(`${folder}/a.sqlite`)).toBe(false);

    const holder = await openStore<Tables>({ url, migrations, exclusive: 'x' });
    const row = { id: '1', amount: '1', at: 1, text: null };
    await holder.db.insertInto('note').values(row).execute();
    const reader = await openStore<Tables>({ url, migrations, readOnly: true });
    expect(await reader.db.selectFrom('note').selectAll().execute()).toEqual([row]);
    const write = reader.db.insertInto('note').values({ ...row, id: '2' });
    await expect(write.execute()).rejects.toThrow('readonly');
    await reader.close();
    const newer = { ...migrations, 'note-002': { up: async () => undefined } };
    await expect(openStore<Tables>({ url, migrations: newer, readOnly: true })).rejects.toThrow(
      'of an older version',
    );
    await holder.close();
  });

  it('tells which file is damaged and what to do, whether it is the head or a page of it', async () => {
    const path = `${folder}/a.sqlite`;
    const url = `file:${path}`;
    const store = await openStore<Tables>({ url, migrations });
    const rows = Array.from({ length: 100 }, (_, at) => ({
      id: String(at),
      amount: '1'.repeat(400),
      at,
      text: null,
    }));
    await store.db.insertInto('note').values(rows).execute();
    await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
    await store.close();
    const whole = readFileSync(path);
    const torn = Buffer.from(whole).fill(7, whole.length - 8 * 4_096);
    writeFileSync(path, torn);
    const wanted = new RegExp(`^${path} is damaged or no SQLite database .*: put a backup`);
    const opened = await openStore<Tables>({ url, migrations }).catch((error: unknown) => error);
    const reading =
      opened instanceof Error
        ? Promise.reject(opened)
        : (opened as Awaited<ReturnType<typeof openStore<Tables>>>).db
            .selectFrom('note')
            .selectAll()
            .execute();
    await expect(reading).rejects.toThrow(wanted);
    await expect(reading).rejects.toThrow(StoreError);
    if (!(opened instanceof Error)) await (opened as { close(): Promise<void> }).close();

    writeFileSync(path, 'no database');
    for (const options of [{}, { exclusive: 'x' }, { readOnly: true }]) {
      await expect(openStore<Tables>({ url, migrations, ...options })).rejects.toThrow(wanted);
    }
    writeFileSync(`${path}.lock`, 'no database');
    await expect(openStore<Tables>({ url, migrations, exclusive: 'x' })).rejects.toThrow(
      `${path}.lock is damaged`,
    );
    writeFileSync(`${folder}/file`, '');
    await expect(openStore({ url: `file:${folder}/file/a.sqlite`, migrations })).rejects.toThrow(
      /^.*\/file\/a\.sqlite cannot be used \(.*\): check the rights/,
    );
  });

  it('runs on WAL with every commit synced', async () => {
    const store = await openStore<Tables>({ url: `file:${folder}/a.sqlite`, migrations });
    const mode = await sql<{ journal_mode: string }>`PRAGMA journal_mode`.execute(store.db);
    const sync = await sql<{ synchronous: number }>`PRAGMA synchronous`.execute(store.db);
    const keys = await sql<{ foreign_keys: number }>`PRAGMA foreign_keys`.execute(store.db);
    expect(mode.rows[0]?.journal_mode).toBe('wal');
    expect(sync.rows[0]?.synchronous).toBe(2);
    expect(keys.rows[0]?.foreign_keys).toBe(1);
    await store.close();
  });

  it('rolls a failed transaction back as a whole', async () => {
    const store = await openStore<Tables>({ url: 'file::memory:', migrations });
    const row = { id: '1', amount: '1', at: 1, text: null };
    await expect(
      store.db.transaction().execute(async (trx) => {
        await trx.insertInto('note').values(row).execute();
        await trx.insertInto('note').values(row).execute();
      }),
    ).rejects.toThrow(/UNIQUE/);
    expect(await store.db.selectFrom('note').selectAll().execute()).toEqual([]);
    await store.close();
  });

  it('refuses undefined, which libsql would bind as NULL', async () => {
    const store = await openStore<Tables & { x: { a: Generated<number> } }>({
      url: 'file::memory:',
      migrations,
    });
    const missing = undefined as unknown as string;
    await expect(
      sql`insert into note (id, amount, at) values (${missing}, '1', 1)`.execute(store.db),
    ).rejects.toThrow(/undefined/);
    const long = 'x'.repeat(100_000);
    await expect(
      sql`insert into note (id, amount, at) values (${missing}, ${long}, 1)`.execute(store.db),
    ).rejects.toThrow(/undefined/);
    await store.close();
  });

  it('gives the data file to one exclusive holder at a time and says what to do', async () => {
    const url = `file:${folder}/a.sqlite`;
    const first = await openStore<Tables>({ url, migrations, exclusive: 'sender' });
    await expect(openStore<Tables>({ url, migrations, exclusive: 'sender' })).rejects.toThrow(
      /another process.*DATABASE_URL/,
    );
    await first.close();
    const again = await openStore<Tables>({ url, migrations, exclusive: 'sender' });
    await again.close();
  });

  it('frees the lock of a process that was killed', async () => {
    const url = `file:${folder}/a.sqlite`;
    const module = join(import.meta.dirname, 'store.ts');
    const code = `import { openStore } from ${JSON.stringify(module)};
      await openStore({ url: ${JSON.stringify(url)}, migrations: {}, exclusive: 'sender' });
      process.stdout.write('held\\n'); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const open = () => openStore<Tables>({ url, migrations, exclusive: 'sender' });
    await expect(open()).rejects.toThrow(/another process/);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const store = await open();
    await store.close();
  });

  it('names the migration that failed and leaves no lock behind', async () => {
    const url = `file:${folder}/a.sqlite`;
    const broken: Migrations = {
      'x-001-broken': {
        up: async (db) => void (await sql`select nonsense from nowhere`.execute(db)),
      },
    };
    await expect(openStore({ url, migrations: broken, exclusive: 'sender' })).rejects.toThrow(
      /x-001-broken/,
    );
    await (await openStore<Tables>({ url, migrations, exclusive: 'sender' })).close();
    expect(existsSync(`${folder}/a.sqlite`)).toBe(true);
  });

  it('takes migrations of several modules, in any order of arrival', async () => {
    const url = `file:${folder}/a.sqlite`;
    const other: Migrations = {
      'aaa-001': {
        up: async (db) => {
          await db.schema.createTable('aaa').addColumn('id', 'text').execute();
        },
      },
    };
    await (await openStore<Tables>({ url, migrations })).close();
    await (await openStore<Tables>({ url, migrations: { ...migrations, ...other } })).close();
  });

  it('rejects a URL of another kind', async () => {
    await expect(openStore({ url: 'mysql://x', migrations })).rejects.toThrow(/file: or postgres/);
    await expect(openStore({ url: 'file:a?mode=ro', migrations })).rejects.toThrow(
      /without options/,
    );
  });
});
