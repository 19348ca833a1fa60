/**
 * Which open orders trigger at a NAV, at a cost in proportion to what triggers and not to what is open.
 *
 * An order triggers at or below a level (a stop, a limit's trigger) or at or above one (a take-profit). The levels are
 * 1e18 numbers as decimal text, so the indexes hold them padded to one width, where text order is number order. They
 * are indexes over expressions of `order_index`: nothing else has to be kept in step with it.
 */
import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely';
import type { Address, Hex } from 'viem';
import type { Migrations } from '../../runtime/store/store.ts';
import { fromRow, type Order } from '../orders/order-index.ts';
import type { OrderRow, OrderTables } from '../orders/order-tables.ts';
import type { ScheduleTables } from '../orders/schedule-tables.ts';
import { type DueSlot, dueSlots, endedSchedules } from './due-slots.ts';
import type { Place } from './turns.ts';

/** Digits of the largest uint256. */
const KEY_DIGITS = 78;
const NEVER_ABOVE = '0'.repeat(KEY_DIGITS);
const NEVER_BELOW = '9'.repeat(KEY_DIGITS);
/** Of a limit buy without a trigger: any NAV is low enough. */
const ANY_NAV = NEVER_BELOW;

/** The level's place in an index: text that sorts as the number does. */
function keyOf(nav: bigint): string {
  return nav.toString().padStart(KEY_DIGITS, '0');
}

/** The same within SQL, in words that SQLite and PostgreSQL share. Literals: an index is only used for equal words. */
function padded(column: 'stop_nav' | 'tp_nav' | 'trigger_nav'): RawBuilder<string> {
  const name = sql.ref(column);
  return sql`substr(${sql.lit(NEVER_ABOVE)} || ${name}, length(${name}) + 1)`;
}

/** The NAV at or below which an order triggers; all zeros for none, which no NAV is. */
const firesAtOrBelow = sql<string>`case when kind = 'exit' then ${padded('stop_nav')} when trigger_nav = '0' then ${sql.lit(ANY_NAV)} else ${padded('trigger_nav')} end`;
/** The NAV at or above which an order triggers; all nines for none. Only orders with a take-profit are in its index. */
const firesAtOrAbove = sql<string>`case when tp_nav = '0' then ${sql.lit(NEVER_BELOW)} else ${padded('tp_nav')} end`;

export const dueIndexMigrations: Migrations = {
  'api-007-due-orders': {
    up: async (db) => {
      // Only open orders: what has ended would fill the indexes otherwise.
      await sql`create index order_index_below on order_index (vault, (${firesAtOrBelow})) where closed_block is null`.execute(
        db,
      );
      await sql`create index order_index_above on order_index (vault, (${padded('tp_nav')})) where closed_block is null and tp_nav <> '0'`.execute(
        db,
      );
      await sql`create index order_index_expiry on order_index (closed_block, deadline) where closed_block is null`.execute(
        db,
      );
    },
  },
  'api-008-due-levels': {
    up: async (db) => {
      // Statistics are of all rows: one without a take-profit must not count as one that every NAV reaches.
      await sql`drop index order_index_above`.execute(db);
      await sql`create index order_index_above on order_index (vault, (${firesAtOrAbove})) where closed_block is null and tp_nav <> '0'`.execute(
        db,
      );
      // PostgreSQL takes no statistics from partial indexes: it would suppose that a third of all orders trigger, and
      // read the whole table rather than so many places of an index. SQLite has none of these and needs none.
      if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
      await sql`create statistics order_index_below_levels on (${firesAtOrBelow}) from order_index`.execute(
        db,
      );
      await sql`create statistics order_index_above_levels on (${firesAtOrAbove}) from order_index`.execute(
        db,
      );
    },
  },
};

/** A vault and the NAV to ask for, dollars x 1e18. */
export type NavOf = { vault: Address; nav: bigint };

export type PlacedOrder = Order & { place: Place };

function placed(row: OrderRow): PlacedOrder {
  return { ...fromRow(row), place: { block: row.opened_block, log: row.opened_log } };
}

export class DueIndex {
  readonly #db: Kysely<OrderTables & ScheduleTables>;

  constructor(db: Kysely<OrderTables & ScheduleTables>) {
    this.#db = db;
  }

  /**
   * Orders that trigger at these NAVs and are not expired at `chainTime` (unix seconds), after `after`, oldest first.
   * One query; at most `limit` rows, of however many trigger.
   */
  async orders(
    navs: readonly NavOf[],
    chainTime: number,
    after: Place,
    limit: number,
  ): Promise<PlacedOrder[]> {
    if (navs.length === 0) return [];
    const { rows } = await dueQuery(navs, chainTime, after, limit).execute(this.#db);
    return rows.map(placed);
  }

  /** Slots of schedules in these baskets that are due at `chainTime`, as {@link DueIndex.orders}. */
  async slots(
    vaults: readonly Address[],
    chainTime: number,
    after: Place,
    limit: number,
  ): Promise<DueSlot[]> {
    return await dueSlots(this.#db, vaults, chainTime, after, limit);
  }

  /** Open schedules whose last slot has closed, first the one that ended first, at most `limit`. */
  async ended(chainTime: number, limit: number): Promise<Hex[]> {
    return await endedSchedules(this.#db, chainTime, limit);
  }

  /** Open orders past their deadline, first the one that expired first, at most `limit`. */
  async expired(chainTime: number, limit: number): Promise<Order[]> {
    const rows = await expiredQuery(this.#db, chainTime, limit).execute();
    return rows.map(fromRow);
  }
}

/** The query of {@link DueIndex.orders}; apart, so that a test can ask the store how it would run it. */
export function dueQuery(
  navs: readonly NavOf[],
  chainTime: number,
  after: Place,
  limit: number,
): RawBuilder<OrderRow> {
  const open = (condition: RawBuilder<unknown>) =>
    sql`select * from order_index where closed_block is null and ${condition} and deadline > ${chainTime} and (opened_block > ${after.block} or (opened_block = ${after.block} and opened_log > ${after.log}))`;
  const parts = navs.flatMap(({ vault, nav }) => [
    open(sql`vault = ${vault} and ${firesAtOrBelow} >= ${keyOf(nav)}`),
    // A stop lies below its take-profit, so no order is in both parts.
    open(sql`vault = ${vault} and tp_nav <> '0' and ${firesAtOrAbove} <= ${keyOf(nav)}`),
  ]);
  return sql<OrderRow>`select * from (${sql.join(parts, sql` union all `)}) as due order by opened_block, opened_log limit ${limit}`;
}

/** The query of {@link DueIndex.expired}. */
export function expiredQuery(db: Kysely<OrderTables>, chainTime: number, limit: number) {
  return db
    .selectFrom('order_index')
    .selectAll()
    .where('closed_block', 'is', null)
    .where('deadline', '<=', chainTime)
    .orderBy('deadline')
    .orderBy('opened_block')
    .orderBy('opened_log')
    .limit(limit);
}
