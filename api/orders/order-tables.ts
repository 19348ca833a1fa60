/** Orders as the chain's events tell them. An order opens once and closes once, so undoing a block is two updates. */
import type { Migrations } from '../../runtime/store/store.ts';

export type OrderRow = {
  id: string;
  escrow: string;
  kind: 'exit' | 'limit';
  owner: string;
  vault: string;
  /** Shares of an exit (1e18), USDG of a limit (1e6), as decimal text. */
  amount: string;
  /** Dollars x 1e18 as decimal text; "0" is none. */
  stop_nav: string;
  tp_nav: string;
  trigger_nav: string;
  /** Unix seconds. */
  deadline: number;
  opened_block: number;
  opened_log: number;
  closed_block: number | null;
  closed_as: 'filled' | 'cancelled' | 'expired' | null;
};

export type OrderTables = { order_index: OrderRow };

export const orderMigrations: Migrations = {
  'api-003-orders': {
    up: async (db) => {
      await db.schema
        .createTable('order_index')
        .addColumn('id', 'text', (column) => column.notNull())
        .addColumn('escrow', 'text', (column) => column.notNull())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('owner', 'text', (column) => column.notNull())
        .addColumn('vault', 'text', (column) => column.notNull())
        .addColumn('amount', 'text', (column) => column.notNull())
        .addColumn('stop_nav', 'text', (column) => column.notNull())
        .addColumn('tp_nav', 'text', (column) => column.notNull())
        .addColumn('trigger_nav', 'text', (column) => column.notNull())
        .addColumn('deadline', 'bigint', (column) => column.notNull())
        .addColumn('opened_block', 'bigint', (column) => column.notNull())
        .addColumn('opened_log', 'bigint', (column) => column.notNull())
        .addColumn('closed_block', 'bigint')
        .addColumn('closed_as', 'text')
        .addPrimaryKeyConstraint('order_index_key', ['escrow', 'id'])
        .execute();
      await db.schema
        .createIndex('order_index_owner')
        .on('order_index')
        .columns(['owner', 'closed_block'])
        .execute();
      await db.schema
        .createIndex('order_index_closed')
        .on('order_index')
        .columns(['closed_block', 'opened_block'])
        .execute();
    },
  },
};
