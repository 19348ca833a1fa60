/** The relayer's own tables, beside the sender's in the same store. */
import type { Kysely, Migration } from 'kysely';
import { moneyMigrations, type MoneyTables } from './money/tables.ts';
import { trailMigrations, type TrailTables } from './trail-tables.ts';

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
  /** The action that it is for, by its digest without a fee. */
  quote_terms: string | null;
  next_fee: number | null;
  /** Place of the last claim among those of the account, from 1; null where there was none. */
  claim_seq: number | null;
  /** Unix milliseconds of that claim. */
  claimed_at: number | null;
  /** 1 where what was claimed carries no fee by right: the cancel of a cover request. */
  is_free: number;
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

/** What one settled intent cost and brought (ledger.ts). */
type LedgerRow = {
  intent_key: string;
  digest: string;
  module: string;
  account: string;
  key: string;
  /** UTC day of the settlement, unix days. */
  day: number;
  /** Unix milliseconds of the settlement. */
  settled_at: number;
  outcome: 'mined' | 'reverted';
  hash: string;
  /** Gas paid: wei as decimal text, and USDG base units at the ETH price of then, rounded up. */
  gas_wei: string;
  gas_usdg: number;
  /** USDG base units; 0 where the action did not run. */
  fee_usdg: number;
  /** Dollars x 1e18 per ETH as decimal text. */
  eth_price: string;
};

/** Keys that are, or lately were, kept out for what they cost (quarantine.ts). */
type QuarantineRow = {
  key: string;
  /** How many quarantines in a row. */
  strikes: number;
  /** Unix milliseconds. */
  started_at: number;
  until: number;
  /** USDG base units lost within the window when it began. */
  lost_usdg: number;
};

export type RelayTables = {
  relay_slots: SlotRow;
  relay_gas: GasRow;
  relay_ledger: LedgerRow;
  relay_quarantine: QuarantineRow;
} & TrailTables &
  MoneyTables;

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
  'relay-003-ledger': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('relay_ledger')
        .addColumn('intent_key', 'text', (column) => column.primaryKey())
        .addColumn('digest', 'text', (column) => column.notNull())
        .addColumn('module', 'text', (column) => column.notNull())
        .addColumn('account', 'text', (column) => column.notNull())
        .addColumn('key', 'text', (column) => column.notNull())
        .addColumn('day', 'bigint', (column) => column.notNull())
        .addColumn('settled_at', 'bigint', (column) => column.notNull())
        .addColumn('outcome', 'text', (column) => column.notNull())
        .addColumn('hash', 'text', (column) => column.notNull())
        .addColumn('gas_wei', 'text', (column) => column.notNull())
        .addColumn('gas_usdg', 'bigint', (column) => column.notNull())
        .addColumn('fee_usdg', 'bigint', (column) => column.notNull())
        .addColumn('eth_price', 'text', (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex('relay_ledger_key')
        .on('relay_ledger')
        .columns(['key', 'settled_at'])
        .execute();
      await db.schema
        .createIndex('relay_ledger_day')
        .on('relay_ledger')
        .columns(['day', 'key'])
        .execute();
      await db.schema
        .createIndex('relay_ledger_digest')
        .on('relay_ledger')
        .columns(['digest'])
        .execute();
      await db.schema
        .createTable('relay_quarantine')
        .addColumn('key', 'text', (column) => column.primaryKey())
        .addColumn('strikes', 'integer', (column) => column.notNull())
        .addColumn('started_at', 'bigint', (column) => column.notNull())
        .addColumn('until', 'bigint', (column) => column.notNull())
        .addColumn('lost_usdg', 'bigint', (column) => column.notNull())
        .execute();
    },
  },
  'relay-004-claims': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('relay_slots').addColumn('claim_seq', 'bigint').execute();
      await db.schema.alterTable('relay_slots').addColumn('claimed_at', 'bigint').execute();
      // Who claims a place says that he knows of every claim before it: two cannot say so of the same.
      await db.schema
        .createIndex('relay_slots_claim')
        .on('relay_slots')
        .columns(['account', 'claim_seq'])
        .unique()
        .execute();
      await db.schema
        .createIndex('relay_slots_account')
        .on('relay_slots')
        .columns(['account', 'state', 'deadline'])
        .execute();
    },
  },
  'relay-005-free': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .alterTable('relay_slots')
        .addColumn('is_free', 'integer', (column) => column.notNull().defaultTo(0))
        .execute();
    },
  },
  'relay-006-quote-terms': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('relay_slots').addColumn('quote_terms', 'text').execute();
    },
  },
  ...trailMigrations,
  ...moneyMigrations,
};
