/** How far the chain was read for the keeper's own discovery, and what was open there. */
import type { Kysely } from 'kysely';
import type { Migrations } from '../../runtime/store/store.ts';

export type DiscoveryTables = {
  /** One row: the block up to which `keeper_open` tells what is open. */
  keeper_discovery: {
    /** Always 1. */
    id: number;
    /** Of the contracts that were read. */
    deployment: string;
    block: number;
    block_hash: string;
  };
  keeper_open: {
    /** {@link keyOf} of book.ts. */
    item_key: string;
    /** book.ts as JSON. */
    item: string;
  };
};

export const discoveryMigrations: Migrations = {
  'keeper-003-discovery': {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('keeper_discovery')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('deployment', 'text', (column) => column.notNull())
        .addColumn('block', 'bigint', (column) => column.notNull())
        .addColumn('block_hash', 'text', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('keeper_open')
        .addColumn('item_key', 'text', (column) => column.primaryKey())
        .addColumn('item', 'text', (column) => column.notNull())
        .execute();
    },
  },
};
