/**
 * Names the run of reading that rows come from. While it is the same, rows of blocks below the overlap neither change
 * nor come: whatever undoes them or reads old blocks again begins a new epoch in the same store transaction. What is
 * worked out from such rows may be kept as long, by processes that only follow too.
 */
import { randomUUID } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { Migrations } from '../../runtime/store/store.ts';

export type EpochTables = { index_epoch: { name: string; value: string } };

export const epochMigrations: Migrations = {
  'api-010-epoch': {
    up: async (db) => {
      await db.schema
        .createTable('index_epoch')
        .addColumn('name', 'text', (column) => column.primaryKey())
        .addColumn('value', 'text', (column) => column.notNull())
        .execute();
    },
  },
};

type Db = Kysely<EpochTables> | Transaction<EpochTables>;

/** `tape`: of the NAV tape alone, another one after every change of it (tape-store.ts). */
type Name = 'rows' | 'tape';

/** Empty until the first one begins. */
export async function readEpoch(db: Db, name: Name = 'rows'): Promise<string> {
  const row = await db
    .selectFrom('index_epoch')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.value ?? '';
}

/** Never a value that was there before, in any store: one that was emptied must not look like the old one. */
export async function beginEpoch(trx: Db, name: Name = 'rows'): Promise<string> {
  const value = randomUUID();
  await trx
    .insertInto('index_epoch')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
  return value;
}
