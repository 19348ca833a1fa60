import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { openStore } from '../../runtime/store/store.ts';
import { type ApiTables, apiMigrations } from '../tables.ts';
import { keyedRowMigrations } from './keyed-rows.ts';

const transfer = (log_index: number) => ({
  block: 7,
  log_index,
  time: 1_700_000_000,
  vault: '0xaa',
  sender: '0xbb',
  receiver: '0xcc',
  shares: '12',
  kind: 'move' as const,
});
const span = { vault: '0xaa', span: 60, start: 120, high: '3', low: '1', value: '2' };
const swap = { pool: '0xdd', block: 7, log_index: 1, time: 1_700_000_000, sqrt_price: '99' };

it('keeps the rows and the indexes of a database that was made before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyed-rows-'));
  const url = `file:${join(folder, 'old.sqlite')}`;
  const before = Object.fromEntries(
    Object.entries(apiMigrations).filter(([name]) => !(name in keyedRowMigrations)),
  );
  const made = async (migrations: typeof apiMigrations) => {
    const store = await openStore<ApiTables>({ url, migrations });
    const { rows } = await sql<{ name: string; tbl_name: string; sql: string | null }>`
      select name, tbl_name, sql from sqlite_master
      where tbl_name in ('share_transfer', 'nav_span', 'nav_swap') and sql is not null
      order by name`.execute(store.db);
    return { db: store.db, close: () => store.close(), rows };
  };
  try {
    const old = await made(before);
    await old.db
      .insertInto('share_transfer')
      .values([transfer(1), transfer(2)])
      .execute();
    await old.db.insertInto('nav_span').values(span).execute();
    await old.db.insertInto('nav_swap').values(swap).execute();
    await old.close();

    const now = await made(apiMigrations);
    expect(await now.db.selectFrom('share_transfer').selectAll().execute()).toEqual([
      transfer(1),
      transfer(2),
    ]);
    expect(await now.db.selectFrom('nav_span').selectAll().execute()).toEqual([span]);
    expect(await now.db.selectFrom('nav_swap').selectAll().execute()).toEqual([swap]);
    expect(now.rows.map(({ name }) => name)).toEqual(old.rows.map(({ name }) => name));
    for (const { name, tbl_name, sql: text } of now.rows) {
      expect(`${name}: ${text}`.includes('without rowid')).toBe(name === tbl_name);
    }
    await now.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
