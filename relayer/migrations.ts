/** The relayer's own tables, beside the sender's in the same store. */
import type { Kysely, Migration } from 'kysely';

export type SlotRow = {
  module: string;
  account: string;
  /** uint256 as decimal text. */
  nonce: string;
  key: string;
  state: 'open' | 'claimed';
  digest: string;
  /** The action as JSON (wire.md). */
  action: string;
  signature: string;
  /** Unix seconds, the action's. */
  deadline: number;
  attempt: number;
  was_broadcast: number;
  /** USDG base units; at most $10 in one quote, so a plain integer holds it. */
  quote_fee: number | null;
  quote_expires_at: number | null;
  next_fee: number | null;
  /** Unix milliseconds. */
  created_at: number;
  updated_at: number;
};

type GasRow = {
  intent_key: string;
  /** UTC day, unix days. */
  day: number;
  /** Wei as decimal text. */
  wei: string;
};

export type RelayTables = { relay_slots: SlotRow; relay_gas: GasRow };

export const relayMigrations: Readonly<Record<string, Migration>> = {
  'relay-001-slots': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('relay_slots')
        .addColumn('module', 'text', (column) => column.notNull())
        .addColumn('account', 'text', (column) => column.notNull())
        .addColumn('nonce', 'text', (column) => column.notNull())
        .addColumn('key', 'text', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('digest', 'text', (column) => column.notNull())
        .addColumn('action', 'text', (column) => column.notNull())
        .addColumn('signature', 'text', (column) => column.notNull())
        .addColumn('deadline', 'bigint', (column) => column.notNull())
        .addColumn('attempt', 'integer', (column) => column.notNull())
        .addColumn('was_broadcast', 'integer', (column) => column.notNull())
        .addColumn('quote_fee', 'bigint')
        .addColumn('quote_expires_at', 'bigint')
        .addColumn('next_fee', 'bigint')
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .addColumn('updated_at', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('relay_slots_pk', ['module', 'account', 'nonce'])
        .execute();
      await db.schema
        .createIndex('relay_slots_digest')
        .on('relay_slots')
        .columns(['digest'])
        .unique()
        .execute();
      await db.schema
        .createIndex('relay_slots_state')
        .on('relay_slots')
        .columns(['state', 'deadline'])
        .execute();
    },
  },
  'relay-002-gas': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('relay_gas')
        .addColumn('intent_key', 'text', (column) => column.primaryKey())
        .addColumn('day', 'bigint', (column) => column.notNull())
        .addColumn('wei', 'text', (column) => column.notNull())
        .execute();
      await db.schema.createIndex('relay_gas_day').on('relay_gas').columns(['day']).execute();
    },
  },
};
