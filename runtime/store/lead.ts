/**
 * The lead over rows that several processes share and one at a time may write: who has it (leadership.ts), and the
 * epoch in the store that fences whoever had it before. What must hold:
 * 1. A write under a fence happens only in the newest epoch: it locks the epoch's row to the end of its transaction, so
 *    one that was overtaken is undone as a whole, and the next leader's first look comes after the last write before it.
 * 2. A fence is of one term for ever: what is left of an old term in a process that leads anew writes nothing.
 */
import { type Migration, sql, type Transaction } from 'kysely';
import type { Leadership } from './leadership.ts';
import type { Store } from './store.ts';

/** Another process leads by now, or nobody: nothing was written, and nothing more may be done under this lead. */
export class Overtaken extends Error {
  constructor() {
    super('this process no longer leads: another one may by now');
    this.name = 'Overtaken';
  }
}

export type Fence = {
  /** Whether the term lasts, as far as this process knows: costs nothing, and may be wrong for a moment. */
  holds(): boolean;
  /** Makes sure of it to the end of the transaction. @throws Overtaken */
  check(trx: unknown): Promise<void>;
};

/** Where the store has one writer by other means: a locked file, an exclusive lock. */
export const unfenced: Fence = { holds: () => true, check: async () => undefined };

/** The table of epochs; part of the migrations of whatever is led. */
export const leadMigration: Migration = {
  up: async (db) => {
    await db.schema
      .createTable('store_lead')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('epoch', 'bigint', (column) => column.notNull())
      .execute();
  },
};

export type Lead = {
  /**
   * Takes the lead, makes sure of it, or finds that another process has it.
   * @returns `taken` with the fence of a new term: whatever was known of the rows may be old then.
   * @throws what the store throws; then nobody leads through this process.
   */
  take(): Promise<{ tag: 'taken'; fence: Fence } | { tag: 'kept' } | { tag: 'follows' }>;
  /** Why the last `take` could not ask the server; null where it could. */
  fault(): string | null;
  /** Lets another process lead. */
  release(): Promise<void>;
};

/** @param name of what is led, the same in every process; the store's migrations must hold {@link leadMigration}. */
export function createLead<DB>(options: {
  store: Store<DB>;
  leadership: Leadership;
  name: string;
}): Lead {
  const { store, leadership, name } = options;
  let known: number | null = null;
  return {
    take: async () => {
      const term = await leadership.claim();
      if (term === null) {
        known = null;
        return { tag: 'follows' };
      }
      if (term === known) return { tag: 'kept' };
      known = null;
      const fence = await nextEpoch(store, leadership, name, term);
      known = term;
      return { tag: 'taken', fence };
    },
    fault: () => leadership.fault(),
    release: async () => {
      known = null;
      await leadership.release();
    },
  };
}

async function nextEpoch<DB>(
  store: Store<DB>,
  leadership: Leadership,
  name: string,
  term: number,
): Promise<Fence> {
  const holds = (): boolean => leadership.holds(term);
  // A SQLite file has one writer.
  if (store.dialect === 'sqlite') return { ...unfenced, holds };
  const { rows } = await sql<{ epoch: number }>`
    insert into store_lead as lead (name, epoch) values (${name}, 1)
    on conflict (name) do update set epoch = lead.epoch + 1 returning epoch`.execute(store.db);
  const mine = rows[0]?.epoch;
  if (mine === undefined) throw new Error('the store gave no epoch');
  return {
    holds,
    check: async (trx) => {
      if (!holds()) throw new Overtaken();
      // Shared: a leader's own writes do not wait for one another, the next leader's epoch waits for them all.
      const { rows: newest } = await sql<{ epoch: number }>`
        select epoch from store_lead where name = ${name} for share`.execute(
        trx as Transaction<unknown>,
      );
      if (newest[0]?.epoch !== mine) throw new Overtaken();
    },
  };
}
