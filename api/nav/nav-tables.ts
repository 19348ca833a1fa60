/**
 * NAV history as the chain's swaps tell it. Stored per basket and traded minute, hour and day: the joint high and low
 * of a basket cannot be had from its pools' own, and a read of a year takes one row a candle. Between trades nothing is
 * stored. Values and NAVs are dollars x 1e18, prices Q64.96 square roots, all as decimal text.
 */
import type { Migrations } from '../../runtime/store/store.ts';
import type { EpochTables } from '../indexer/epoch.ts';

export type NavTables = EpochTables & {
  /** Baskets whose history is complete up to the index's cursor. `opening`: value at genesis, "0" where there was none;
   * null until it is known. */
  nav_basket: { vault: string; opening: string | null };
  /** Traded spans of 60, 3600 and 86400 seconds (TradedSpan). `value` is before fees. */
  nav_span: {
    vault: string;
    span: number;
    start: number;
    high: string;
    low: string;
    value: string;
  };
  /** Each pool's price before the swaps below, and the block of the swap that left it. */
  nav_pool: { pool: string; sqrt_price: string; block: number };
  /** The newest swaps, as far back as a reorg may reach. */
  nav_swap: {
    pool: string;
    block: number;
    log_index: number;
    time: number;
    sqrt_price: string;
  };
  /** One row: the first minute of which every swap is still in nav_swap. */
  nav_tape: { name: string; floor: number };
};

export const navMigrations: Migrations = {
  'api-001-nav-samples': {
    up: async (db) => {
      await db.schema
        .createTable('nav_sample')
        .addColumn('vault', 'text', (column) => column.notNull())
        .addColumn('minute', 'bigint', (column) => column.notNull())
        .addColumn('nav', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('nav_sample_key', ['vault', 'minute'])
        .execute();
    },
  },
  'api-006-nav-history': {
    up: async (db) => {
      // What one process had happened to see is no longer a source.
      await db.schema.dropTable('nav_sample').execute();
      await db.schema
        .createTable('nav_basket')
        .addColumn('vault', 'text', (column) => column.primaryKey())
        .addColumn('opening', 'text')
        .execute();
      await db.schema
        .createTable('nav_span')
        .addColumn('vault', 'text', (column) => column.notNull())
        .addColumn('span', 'bigint', (column) => column.notNull())
        .addColumn('start', 'bigint', (column) => column.notNull())
        .addColumn('high', 'text', (column) => column.notNull())
        .addColumn('low', 'text', (column) => column.notNull())
        .addColumn('value', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('nav_span_key', ['vault', 'span', 'start'])
        .execute();
      await db.schema
        .createTable('nav_pool')
        .addColumn('pool', 'text', (column) => column.primaryKey())
        .addColumn('sqrt_price', 'text', (column) => column.notNull())
        .addColumn('block', 'bigint', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('nav_swap')
        .addColumn('pool', 'text', (column) => column.notNull())
        .addColumn('block', 'bigint', (column) => column.notNull())
        .addColumn('log_index', 'bigint', (column) => column.notNull())
        .addColumn('time', 'bigint', (column) => column.notNull())
        .addColumn('sqrt_price', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('nav_swap_key', ['block', 'log_index'])
        .execute();
      await db.schema
        .createTable('nav_tape')
        .addColumn('name', 'text', (column) => column.primaryKey())
        .addColumn('floor', 'bigint', (column) => column.notNull())
        .execute();
    },
  },
};
