/**
 * Schedules as the chain's events tell them. One is over with the fill of its last slot, by a cancel, or by being sent
 * back: an escrow's `OrderFilled` comes once a slot and says nothing of the end.
 */
import type { Migrations } from '../../runtime/store/store.ts';

export type ScheduleRow = {
  id: string;
  escrow: string;
  owner: string;
  vault: string;
  kind: 'subscribe' | 'twap';
  /** USDG of all slots, base units as decimal text. */
  total: string;
  slots: number;
  /** Seconds. */
  interval: number;
  /** Unix seconds of the first slot. */
  start_at: number;
  /** Unix seconds of the start of the first slot after the last filled one: from then on a slot is due, until the end. */
  next_at: number;
  slippage_bps: number;
  cap_bps: number;
  opened_block: number;
  opened_log: number;
  closed_block: number | null;
  closed_as: 'filled' | 'cancelled' | 'expired' | null;
};

/** A slot that was filled, with what its fill took out of the ledger, what stayed, and what the last one gave back. */
export type ScheduleSlotRow = {
  block: number;
  log_index: number;
  id: string;
  slot: number;
  /** USDG base units as decimal text. */
  budget: string;
  remaining: string;
  returned: string;
};

export type ScheduleTables = { schedule_index: ScheduleRow; schedule_slot: ScheduleSlotRow };

export const scheduleMigrations: Migrations = {
  'api-005-schedules': {
    up: async (db) => {
      await db.schema
        .createTable('schedule_index')
        .addColumn('id', 'text', (column) => column.notNull())
        .addColumn('escrow', 'text', (column) => column.notNull())
        .addColumn('owner', 'text', (column) => column.notNull())
        .addColumn('vault', 'text', (column) => column.notNull())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('total', 'text', (column) => column.notNull())
        .addColumn('slots', 'bigint', (column) => column.notNull())
        .addColumn('interval', 'bigint', (column) => column.notNull())
        .addColumn('start_at', 'bigint', (column) => column.notNull())
        .addColumn('slippage_bps', 'bigint', (column) => column.notNull())
        .addColumn('cap_bps', 'bigint', (column) => column.notNull())
        .addColumn('opened_block', 'bigint', (column) => column.notNull())
        .addColumn('opened_log', 'bigint', (column) => column.notNull())
        .addColumn('closed_block', 'bigint')
        .addColumn('closed_as', 'text')
        .addPrimaryKeyConstraint('schedule_index_key', ['escrow', 'id'])
        .execute();
      await db.schema
        .createIndex('schedule_index_owner')
        .on('schedule_index')
        .columns(['owner', 'closed_block'])
        .execute();
      await db.schema
        .createIndex('schedule_index_open')
        .on('schedule_index')
        .columns(['closed_block', 'start_at'])
        .execute();
      await db.schema
        .createTable('schedule_slot')
        .addColumn('block', 'bigint', (column) => column.notNull())
        .addColumn('log_index', 'bigint', (column) => column.notNull())
        .addColumn('id', 'text', (column) => column.notNull())
        .addColumn('slot', 'bigint', (column) => column.notNull())
        .addColumn('budget', 'text', (column) => column.notNull())
        .addColumn('remaining', 'text', (column) => column.notNull())
        .addColumn('returned', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('schedule_slot_key', ['block', 'log_index'])
        .execute();
      await db.schema
        .createIndex('schedule_slot_id')
        .on('schedule_slot')
        .columns(['id', 'slot'])
        .execute();
    },
  },
};
