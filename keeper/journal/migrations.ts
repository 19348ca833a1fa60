/**
 * The keeper's own tables, beside the sender's in the same store. Amounts and gas are decimal text, times unix
 * milliseconds: the column types mean the same in SQLite and PostgreSQL.
 */
import type { Kysely } from 'kysely';
import type { MoveRow } from '../../runtime/money/moves.ts';
import { type SenderTables, senderMigrations } from '../../runtime/sender/tables.ts';
import type { Migrations } from '../../runtime/store/store.ts';
import { type DiscoveryTables, discoveryMigrations } from '../discovery/tables.ts';

/** What is remembered of one order between tries and restarts. */
type JobRow = {
  job_key: string;
  job_type: string;
  ticker: string | null;
  first_seen_ms: number;
  updated_ms: number;
  /** policy/patience.ts as JSON. */
  patience: string;
  /** Gas of the last passing simulation; null before one. */
  gas: string | null;
};

/** One transaction that was handed to the sender, written before it was. */
export type AttemptRow = {
  intent_key: string;
  job_key: string;
  kind: string;
  attempt: number;
  promised_usdg: string;
  created_ms: number;
  updated_ms: number;
  /** Tag of the sender's state; "submitting" before the first. */
  outcome: string;
  tx_hash: string | null;
  fee_usdg: string | null;
  gas_used: string | null;
  gas_price_wei: string | null;
  cost_usdg: string | null;
  /** 1 once nothing about it can change any more. */
  settled: number;
  /** What kind of job it belongs to ("sell", "snapshot" …); null in rows older than the column. */
  work_type: string | null;
  ticker: string | null;
  /** The wallet that sent it, once it was sent. */
  wallet: string | null;
  /** Of `gas_used`, what paid for data on L1; null where the chain does not tell. */
  gas_l1: string | null;
  /** 1 for work done at a loss, on the budget of duties. */
  duty: number;
  /** Fee less cost as expected when it was sent: USDG base units, may be negative. */
  expected_usdg: string | null;
  /** The sender's intent that carries it, when not its own, as JSON (`Carrier`): a batch. */
  carrier: string | null;
  /** The most that it can cost: all of its gas at its highest price, USDG base units; null where that is not known. */
  at_risk_usdg: string | null;
  /** What it must move to us to have paid what its simulation showed, USDG base units; of foreign work only. */
  least_usdg: string | null;
};

/** One line of an order's timeline; equal neighbours are one line with a count. */
export type DecisionRow = {
  job_key: string;
  seq: number;
  first_ms: number;
  last_ms: number;
  repeats: number;
  decision: string;
  detail: string;
  tx_hash: string | null;
};

export type KeeperTables = {
  keeper_jobs: JobRow;
  keeper_attempts: AttemptRow;
  keeper_decisions: DecisionRow;
  keeper_moves: MoveRow;
};

export const keeperMigrations: Migrations = {
  'keeper-001-journal': {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('keeper_jobs')
        .addColumn('job_key', 'text', (column) => column.primaryKey())
        .addColumn('job_type', 'text', (column) => column.notNull())
        .addColumn('ticker', 'text')
        .addColumn('first_seen_ms', 'bigint', (column) => column.notNull())
        .addColumn('updated_ms', 'bigint', (column) => column.notNull())
        .addColumn('patience', 'text', (column) => column.notNull())
        .addColumn('gas', 'text')
        .execute();
      await db.schema
        .createIndex('keeper_jobs_updated')
        .on('keeper_jobs')
        .column('updated_ms')
        .execute();
      await db.schema
        .createTable('keeper_attempts')
        .addColumn('intent_key', 'text', (column) => column.primaryKey())
        .addColumn('job_key', 'text', (column) => column.notNull())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('attempt', 'integer', (column) => column.notNull())
        .addColumn('promised_usdg', 'text', (column) => column.notNull())
        .addColumn('created_ms', 'bigint', (column) => column.notNull())
        .addColumn('updated_ms', 'bigint', (column) => column.notNull())
        .addColumn('outcome', 'text', (column) => column.notNull())
        .addColumn('tx_hash', 'text')
        .addColumn('fee_usdg', 'text')
        .addColumn('gas_used', 'text')
        .addColumn('gas_price_wei', 'text')
        .addColumn('cost_usdg', 'text')
        .addColumn('settled', 'integer', (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex('keeper_attempts_job')
        .on('keeper_attempts')
        .columns(['job_key', 'kind', 'attempt'])
        .unique()
        .execute();
      await db.schema
        .createIndex('keeper_attempts_settled')
        .on('keeper_attempts')
        .columns(['settled', 'created_ms'])
        .execute();
      await db.schema
        .createTable('keeper_decisions')
        .addColumn('job_key', 'text', (column) => column.notNull())
        .addColumn('seq', 'integer', (column) => column.notNull())
        .addColumn('first_ms', 'bigint', (column) => column.notNull())
        .addColumn('last_ms', 'bigint', (column) => column.notNull())
        .addColumn('repeats', 'integer', (column) => column.notNull())
        .addColumn('decision', 'text', (column) => column.notNull())
        .addColumn('detail', 'text', (column) => column.notNull())
        .addColumn('tx_hash', 'text')
        .addPrimaryKeyConstraint('keeper_decisions_key', ['job_key', 'seq'])
        .execute();
      await db.schema
        .createIndex('keeper_decisions_time')
        .on('keeper_decisions')
        .column('last_ms')
        .execute();
    },
  },
  'keeper-002-money': {
    async up(db: Kysely<unknown>): Promise<void> {
      for (const column of [
        'work_type',
        'ticker',
        'wallet',
        'gas_l1',
        'expected_usdg',
        'carrier',
      ] as const) {
        await db.schema.alterTable('keeper_attempts').addColumn(column, 'text').execute();
      }
      await db.schema
        .alterTable('keeper_attempts')
        .addColumn('duty', 'integer', (column) => column.notNull().defaultTo(0))
        .execute();
      await db.schema
        .createIndex('keeper_attempts_updated')
        .on('keeper_attempts')
        .column('updated_ms')
        .execute();
    },
  },
  'keeper-003-moves': {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('keeper_moves')
        .addColumn('intent_key', 'text', (column) => column.primaryKey())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('wallet', 'text', (column) => column.notNull())
        .addColumn('number', 'integer', (column) => column.notNull())
        .addColumn('counterparty', 'text', (column) => column.notNull())
        .addColumn('amount_usdg', 'text', (column) => column.notNull())
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
        .createIndex('keeper_moves_number')
        .unique()
        .on('keeper_moves')
        .columns(['wallet', 'kind', 'number'])
        .execute();
    },
  },
  'keeper-004-risk': {
    async up(db: Kysely<unknown>): Promise<void> {
      for (const column of ['at_risk_usdg', 'least_usdg'] as const) {
        await db.schema.alterTable('keeper_attempts').addColumn(column, 'text').execute();
      }
    },
  },
  'keeper-005-moves-of-eth': {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.alterTable('keeper_moves').addColumn('amount_wei', 'text').execute();
    },
  },
};

/** Everything in the keeper's store: its own tables and the sender's. */
export type StoreTables = SenderTables & KeeperTables & DiscoveryTables;

/** What every opener of the keeper's store passes: a store refuses to open without a migration that it has run. */
export const storeMigrations: Migrations = {
  ...senderMigrations,
  ...keeperMigrations,
  ...discoveryMigrations,
};
