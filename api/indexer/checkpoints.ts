/**
 * How far the chain was read, and the hashes by which a reorg is noticed. A checkpoint is the head at the end of one
 * step; `latest` is the cursor. Older ones thin out of reach of any reorg and are dropped.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Migrations } from '../../runtime/store/store.ts';

export type CheckpointTables = {
  index_checkpoint: { block: number; hash: string };
  index_identity: { name: string; value: string };
};

export const checkpointMigrations: Migrations = {
  'api-002-checkpoints': {
    up: async (db) => {
      await db.schema
        .createTable('index_checkpoint')
        .addColumn('block', 'bigint', (column) => column.primaryKey())
        .addColumn('hash', 'text', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('index_identity')
        .addColumn('name', 'text', (column) => column.primaryKey())
        .addColumn('value', 'text', (column) => column.notNull())
        .execute();
    },
  },
};

export type Checkpoint = { block: number; hash: string };

/** Hashes are kept for this many blocks behind the cursor; one older one stays as the last resort. */
const KEPT_BLOCKS = 5_000;

type Db = Kysely<CheckpointTables> | Transaction<CheckpointTables>;

export async function latestCheckpoint(db: Db): Promise<Checkpoint | null> {
  const row = await db
    .selectFrom('index_checkpoint')
    .selectAll()
    .orderBy('block', 'desc')
    .executeTakeFirst();
  return row ?? null;
}

/** Newest first, below `block`. */
export async function checkpointsBelow(
  db: Db,
  block: number,
  limit: number,
): Promise<Checkpoint[]> {
  return await db
    .selectFrom('index_checkpoint')
    .selectAll()
    .where('block', '<', block)
    .orderBy('block', 'desc')
    .limit(limit)
    .execute();
}

export async function writeCheckpoint(db: Db, checkpoint: Checkpoint): Promise<void> {
  await db
    .insertInto('index_checkpoint')
    .values(checkpoint)
    .onConflict((conflict) => conflict.column('block').doUpdateSet({ hash: checkpoint.hash }))
    .execute();
  const oldest = checkpoint.block - KEPT_BLOCKS;
  const anchor = await db
    .selectFrom('index_checkpoint')
    .select('block')
    .where('block', '<=', oldest)
    .orderBy('block', 'desc')
    .executeTakeFirst();
  if (anchor !== undefined) {
    await db.deleteFrom('index_checkpoint').where('block', '<', anchor.block).execute();
  }
}

export async function dropCheckpointsAbove(db: Db, block: number): Promise<void> {
  await db.deleteFrom('index_checkpoint').where('block', '>', block).execute();
}

/** What the rows were read from; rows of another deployment must not be taken for this one's. */
export async function readIdentity(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('index_identity')
    .select('value')
    .where('name', '=', 'deployment')
    .executeTakeFirst();
  return row?.value ?? null;
}

export async function writeIdentity(db: Db, value: string): Promise<void> {
  await db
    .insertInto('index_identity')
    .values({ name: 'deployment', value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
