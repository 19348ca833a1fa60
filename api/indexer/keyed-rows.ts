/**
 * Tables whose rows come by the thousand, kept in SQLite in the order of their keys: a row is written once, and not into
 * a table and its key's own index.
 */
import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migrations } from '../../runtime/store/store.ts';

/** All with a primary key that no row goes without. */
const TABLES = ['share_transfer', 'nav_span', 'nav_swap'] as const;

export const keyedRowMigrations: Migrations = {
  'api-013-keyed-rows': {
    up: async (db) => {
      if (db.getExecutor().adapter instanceof PostgresAdapter) return;
      for (const table of TABLES) await keepByKey(db, table);
    },
  },
};

/** The table as it was made, with its rows and indexes, but without row numbers. */
async function keepByKey(db: Kysely<unknown>, table: string): Promise<void> {
  const { rows } = await sql<{ type: string; sql: string }>`
    select type, sql from sqlite_master where tbl_name = ${table} and sql is not null`.execute(db);
  const before = `${table}_before`;
  await sql`alter table ${sql.table(table)} rename to ${sql.table(before)}`.execute(db);
  for (const made of rows.filter(({ type }) => type === 'table')) {
    await sql.raw(`${made.sql} without rowid`).execute(db);
  }
  await sql`insert into ${sql.table(table)} select * from ${sql.table(before)}`.execute(db);
  await sql`drop table ${sql.table(before)}`.execute(db);
  for (const made of rows.filter(({ type }) => type === 'index')) {
    await sql.raw(made.sql).execute(db);
  }
}
