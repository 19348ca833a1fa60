/** The rows of the relayer's own money: its moves, and what a command asked of a running relayer. */
import type { Kysely, Migration } from 'kysely';
import type { MoveRow } from '../../runtime/money/moves.ts';

/** What a command asked for and a running relayer does: one row for each thing that can be asked. */
type RequestRow = {
  name: string;
  /** Unix milliseconds. */
  asked_at: number;
  /** The `asked_at` that was last done; 0 before the first. */
  done_at: number;
  /** What came of it, in words. */
  answer: string | null;
};

export type MoneyTables = { relay_moves: MoveRow; relay_requests: RequestRow };

export const moneyMigrations: Readonly<Record<string, Migration>> = {
  'relay-money-001': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('relay_moves')
        .addColumn('intent_key', 'text', (column) => column.primaryKey())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('wallet', 'text', (column) => column.notNull())
        .addColumn('number', 'integer', (column) => column.notNull())
        .addColumn('counterparty', 'text', (column) => column.notNull())
        .addColumn('amount_usdg', 'text', (column) => column.notNull())
        .addColumn('amount_wei', 'text')
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('updated_ms', 'bigint', (column) => column.notNull())
        .addColumn('outcome', 'text', (column) => column.notNull())
        .addColumn('tx_hash', 'text')
        .addColumn('moved_usdg', 'text')
        .addColumn('received_wei', 'text')
        .addColumn('gas_used', 'text')
        .addColumn('gas_price_wei', 'text')
        .addColumn('gas_l1', 'text')
        .addColumn('cost_usdg', 'text')
        .addColumn('settled', 'integer', (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex('relay_moves_number')
        .unique()
        .on('relay_moves')
        .columns(['wallet', 'kind', 'number'])
        .execute();
      await db.schema
        .createTable('relay_requests')
        .addColumn('name', 'text', (column) => column.primaryKey())
        .addColumn('asked_at', 'bigint', (column) => column.notNull())
        .addColumn('done_at', 'bigint', (column) => column.notNull())
        .addColumn('answer', 'text')
        .execute();
    },
  },
};
