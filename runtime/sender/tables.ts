/** The sender's rows: plain columns that SQLite and PostgreSQL keep alike, and their migration. */
import { type Selectable, sql } from 'kysely';
import type { Address, Hex } from 'viem';
import { leadMigration } from '../store/lead.ts';
import type { Migrations } from '../store/store.ts';
import type { Attempt, Entry, Phase } from './entry.ts';
import type { IntentMeta, Refusal } from './types.ts';

export type SenderTables = {
  sender_intent: {
    key: string;
    seq: number;
    version: number;
    kind: string;
    target: string;
    calldata: string;
    value_wei: string;
    gas: string | null;
    not_after: number | null;
    max_fee_wei: string | null;
    meta: string | null;
    /** The one wallet that may send it; null: any. */
    from_wallet: string | null;
    phase: Phase;
    wallet: string | null;
    nonce: number | null;
    confirmed: number;
    refusal: Refusal | null;
    message: string | null;
    revert_data: string | null;
    receipt_hash: string | null;
    receipt_success: number | null;
    block_number: number | null;
    block_hash: string | null;
    gas_used: string | null;
    gas_price: string | null;
    created_at: number;
    updated_at: number;
  };
  sender_attempt: {
    hash: string;
    intent_key: string;
    wallet: string;
    nonce: number;
    role: 'execute' | 'cancel';
    raw: string;
    gas: string;
    max_fee_wei: string;
    tip_wei: string;
    created_at: number;
  };
};

/** To be merged into the migrations of every process that sends. */
export const senderMigrations: Migrations = {
  'sender-001-journal': {
    up: async (db) => {
      await db.schema
        .createTable('sender_intent')
        .addColumn('key', 'text', (column) => column.primaryKey())
        .addColumn('seq', 'bigint', (column) => column.notNull().unique())
        .addColumn('version', 'integer', (column) => column.notNull())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('target', 'text', (column) => column.notNull())
        .addColumn('calldata', 'text', (column) => column.notNull())
        .addColumn('value_wei', 'text', (column) => column.notNull())
        .addColumn('gas', 'text')
        .addColumn('not_after', 'bigint')
        .addColumn('max_fee_wei', 'text')
        .addColumn('meta', 'text')
        .addColumn('phase', 'text', (column) => column.notNull())
        .addColumn('wallet', 'text')
        .addColumn('nonce', 'bigint')
        .addColumn('confirmed', 'integer', (column) => column.notNull())
        .addColumn('refusal', 'text')
        .addColumn('message', 'text')
        .addColumn('revert_data', 'text')
        .addColumn('receipt_hash', 'text')
        .addColumn('receipt_success', 'integer')
        .addColumn('block_number', 'bigint')
        .addColumn('block_hash', 'text')
        .addColumn('gas_used', 'text')
        .addColumn('gas_price', 'text')
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .addColumn('updated_at', 'bigint', (column) => column.notNull())
        .execute();
      // Two live intents can never hold one nonce, whatever a program believes.
      await db.schema
        .createIndex('sender_intent_live_nonce')
        .unique()
        .on('sender_intent')
        .columns(['wallet', 'nonce'])
        .where(sql<boolean>`phase in ('claimed', 'signed', 'broadcast')`)
        .execute();
      await db.schema
        .createIndex('sender_intent_phase')
        .on('sender_intent')
        .columns(['phase', 'confirmed'])
        .execute();
      await db.schema
        .createTable('sender_attempt')
        .addColumn('hash', 'text', (column) => column.primaryKey())
        .addColumn('intent_key', 'text', (column) =>
          column.notNull().references('sender_intent.key'),
        )
        .addColumn('wallet', 'text', (column) => column.notNull())
        .addColumn('nonce', 'bigint', (column) => column.notNull())
        .addColumn('role', 'text', (column) => column.notNull())
        .addColumn('raw', 'text', (column) => column.notNull())
        .addColumn('gas', 'text', (column) => column.notNull())
        .addColumn('max_fee_wei', 'text', (column) => column.notNull())
        .addColumn('tip_wei', 'text', (column) => column.notNull())
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex('sender_attempt_intent')
        .on('sender_attempt')
        .columns(['intent_key', 'created_at'])
        .execute();
    },
  },
  'sender-002-from': {
    up: async (db) => {
      await db.schema.alterTable('sender_intent').addColumn('from_wallet', 'text').execute();
    },
  },
  'sender-003-lead': leadMigration,
};

type IntentRow = Selectable<SenderTables['sender_intent']>;
type AttemptRow = Selectable<SenderTables['sender_attempt']>;

export function rowOf(entry: Entry): IntentRow {
  const { intent } = entry;
  return {
    key: entry.key,
    seq: entry.seq,
    kind: intent.kind,
    target: intent.to,
    calldata: intent.data,
    value_wei: intent.value.toString(),
    gas: intent.gas?.toString() ?? null,
    not_after: intent.notAfter ?? null,
    max_fee_wei: intent.maxFeePerGas?.toString() ?? null,
    meta: intent.meta === undefined ? null : JSON.stringify(intent.meta),
    from_wallet: intent.from ?? null,
    created_at: entry.createdAt,
    ...changingColumnsOf(entry),
  };
}

/** What may differ between two versions of one row. */
export function changingColumnsOf(entry: Entry) {
  const { receipt, refusal } = entry;
  return {
    version: entry.version,
    phase: entry.phase,
    wallet: entry.wallet,
    nonce: entry.nonce,
    confirmed: entry.confirmed ? 1 : 0,
    refusal: refusal?.reason ?? null,
    message: refusal?.message ?? null,
    revert_data: refusal?.revertData ?? null,
    receipt_hash: receipt?.hash ?? null,
    receipt_success: receipt === null ? null : receipt.success ? 1 : 0,
    block_number: receipt === null ? null : Number(receipt.blockNumber),
    block_hash: receipt?.blockHash ?? null,
    gas_used: receipt?.gasUsed.toString() ?? null,
    gas_price: receipt?.effectiveGasPrice.toString() ?? null,
    updated_at: entry.updatedAt,
  };
}

export function entryOf(row: IntentRow, attempts: readonly AttemptRow[]): Entry {
  return {
    key: row.key,
    seq: row.seq,
    version: row.version,
    intent: {
      key: row.key,
      kind: row.kind,
      to: row.target as Address,
      data: row.calldata as Hex,
      value: BigInt(row.value_wei),
      ...(row.from_wallet === null ? {} : { from: row.from_wallet as Address }),
      ...(row.gas === null ? {} : { gas: BigInt(row.gas) }),
      ...(row.not_after === null ? {} : { notAfter: row.not_after }),
      ...(row.max_fee_wei === null ? {} : { maxFeePerGas: BigInt(row.max_fee_wei) }),
      ...(row.meta === null ? {} : { meta: JSON.parse(row.meta) as IntentMeta }),
    },
    phase: row.phase,
    wallet: row.wallet as Address | null,
    nonce: row.nonce,
    receipt: receiptOf(row),
    confirmed: row.confirmed === 1,
    refusal:
      row.refusal === null
        ? null
        : {
            reason: row.refusal,
            message: row.message ?? '',
            revertData: row.revert_data as Hex | null,
          },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    attempts: attempts.map(attemptOf),
  };
}

function receiptOf(row: IntentRow): Entry['receipt'] {
  if (row.receipt_hash === null || row.block_number === null) return null;
  return {
    hash: row.receipt_hash as Hex,
    success: row.receipt_success === 1,
    blockNumber: BigInt(row.block_number),
    blockHash: row.block_hash as Hex,
    gasUsed: BigInt(row.gas_used ?? '0'),
    effectiveGasPrice: BigInt(row.gas_price ?? '0'),
  };
}

export function attemptRowOf(key: string, attempt: Attempt): AttemptRow {
  return {
    hash: attempt.hash,
    intent_key: key,
    wallet: attempt.wallet,
    nonce: attempt.nonce,
    role: attempt.role,
    raw: attempt.raw,
    gas: attempt.gas.toString(),
    max_fee_wei: attempt.maxFee.toString(),
    tip_wei: attempt.tip.toString(),
    created_at: attempt.createdAt,
  };
}

function attemptOf(row: AttemptRow): Attempt {
  return {
    hash: row.hash as Hex,
    wallet: row.wallet as Address,
    nonce: row.nonce,
    role: row.role,
    raw: row.raw as Hex,
    gas: BigInt(row.gas),
    maxFee: BigInt(row.max_fee_wei),
    tip: BigInt(row.tip_wei),
    createdAt: row.created_at,
  };
}
