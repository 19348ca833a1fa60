/**
 * Which schedules have a slot that nobody has filled yet, at a cost in proportion to these: `next_at` of
 * `schedule_index` says from when on one is due, and an index keeps the open ones by it (IScheduleEscrow: slot k is due
 * from start + k x interval to the start of the next one).
 */
import { type Kysely, PostgresAdapter, type RawBuilder, sql, type Transaction } from 'kysely';
import type { Address, Hex } from 'viem';
import type { Migrations } from '../../runtime/store/store.ts';
import type { ScheduleRow, ScheduleTables } from '../orders/schedule-tables.ts';
import type { Place } from './turns.ts';

const nextAt = sql`start_at + ${sql.ref('interval')} * coalesce((select max(slot) + 1 from schedule_slot where schedule_slot.id = schedule_index.id), 0)`;
/** When the last slot closes. */
const endsAt = sql<number>`(start_at + slots * ${sql.ref('interval')})`;

export const dueSlotMigrations: Migrations = {
  // After the tables of api-005-schedules.
  'api-007-due-slots': {
    up: async (db) => {
      await db.schema
        .alterTable('schedule_index')
        .addColumn('next_at', 'bigint', (column) => column.notNull().defaultTo(0))
        .execute();
      await sql`update schedule_index set next_at = ${nextAt}`.execute(db);
      await sql`create index schedule_index_next on schedule_index (closed_block, next_at) where closed_block is null`.execute(
        db,
      );
      await sql`create index schedule_index_end on schedule_index (closed_block, ${endsAt}) where closed_block is null`.execute(
        db,
      );
    },
  },
  // As api-008-due-levels: an index of the open ones alone tells PostgreSQL nothing of their ends.
  'api-008-due-ends': {
    up: async (db) => {
      if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
      await sql`create statistics schedule_index_ends on ${endsAt} from schedule_index`.execute(db);
    },
  },
};

/** Sets `next_at` anew from the slots that are filled: of one schedule, or of all open ones after a rollback. */
export async function moveToNextSlot(
  trx: Transaction<ScheduleTables>,
  id: Hex | null = null,
): Promise<void> {
  const which = id === null ? sql`closed_block is null` : sql`id = ${id}`;
  await sql`update schedule_index set next_at = ${nextAt} where ${which}`.execute(trx);
}

/** A slot that is due. `amount`: USDG that its fill uses at most, base units. */
export type DueSlot = { id: Hex; vault: Address; slot: number; amount: bigint; place: Place };

/** Slots due at `chainTime` (unix seconds) in these baskets, of schedules after `after`, oldest first. */
export async function dueSlots(
  db: Kysely<ScheduleTables>,
  vaults: readonly Address[],
  chainTime: number,
  after: Place,
  limit: number,
): Promise<DueSlot[]> {
  if (vaults.length === 0) return [];
  const { rows } = await dueSlotsQuery(vaults, chainTime, after, limit).execute(db);
  return rows.map((row) => slotAt(row, chainTime));
}

/** The query of {@link dueSlots}; apart, so that a test can ask the store how it would run it. */
export function dueSlotsQuery(
  vaults: readonly Address[],
  chainTime: number,
  after: Place,
  limit: number,
): RawBuilder<ScheduleRow> {
  // Written as a difference: SQLite would use the index of ends otherwise, in which nearly all open ones lie ahead.
  const place = sql`(opened_block > ${after.block} or (opened_block = ${after.block} and opened_log > ${after.log}))`;
  return sql<ScheduleRow>`select * from schedule_index where closed_block is null and next_at <= ${chainTime} and ${endsAt} - ${chainTime} > 0 and vault in (${sql.join(vaults)}) and ${place} order by opened_block, opened_log limit ${limit}`;
}

/** Schedules whose last slot has closed, first the one that ended first, at most `limit`. */
export async function endedSchedules(
  db: Kysely<ScheduleTables>,
  chainTime: number,
  limit: number,
): Promise<Hex[]> {
  const { rows } = await endedQuery(chainTime, limit).execute(db);
  return rows.map(({ id }) => id as Hex);
}

/** The query of {@link endedSchedules}. */
export function endedQuery(chainTime: number, limit: number): RawBuilder<ScheduleRow> {
  return sql<ScheduleRow>`select * from schedule_index where closed_block is null and ${endsAt} <= ${chainTime} order by ${endsAt}, opened_block, opened_log limit ${limit}`;
}

/** Equal slices, the last with the remainder of the division (ScheduleEscrow._budgetOf). */
function slotAt(row: ScheduleRow, chainTime: number): DueSlot {
  const slot = Math.floor((chainTime - row.start_at) / row.interval);
  const total = BigInt(row.total);
  const slots = BigInt(row.slots);
  const rest = slot === row.slots - 1 ? total % slots : 0n;
  return {
    id: row.id as Hex,
    vault: row.vault as Address,
    slot,
    amount: total / slots + rest,
    place: { block: row.opened_block, log: row.opened_log },
  };
}
