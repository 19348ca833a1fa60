/**
 * The rows of slots. Every change is one statement that names the state it expects, so that concurrent requests and
 * several processes on one database agree without locks: who changed no row lost, and reads again.
 */
import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely';
import type { Address, Hex } from 'viem';
import type { SenderTables } from '../runtime/sender/tables.ts';
import { isUniqueViolation } from '../runtime/store/errors.ts';
import { transact, write } from '../runtime/store/writes.ts';
import type { RelayTables, SlotRow } from './migrations.ts';
import type { Quote } from './quote.ts';
import { isCancel } from './signed-action.ts';
import { freshRow, idRow, slotOf, versionRow } from './slot-row.ts';
import { intentKey, released, retried, type Slot, type SlotId, type Version } from './slots.ts';

export type SlotStore = {
  find(id: SlotId): Promise<Slot | null>;
  findByDigest(digest: Hex): Promise<Slot | null>;
  /** Writes the digest as the version of an absent or open slot; returns the slot as it stands afterwards. */
  open(version: Version): Promise<Slot>;
  /**
   * Sets an open slot's quote where none stands at `now` for these terms or it asks for more; returns what then stands,
   * or null when the slot is no longer open.
   */
  quote(id: SlotId, quote: Quote, now: number): Promise<Quote | null>;
  /**
   * What the account has under way: claimed, not settled, and good at `since` (unix seconds); in the order of claims.
   * `head` is the place of its newest claim of all.
   */
  pendingOf(account: Address, since: number): Promise<Pending>;
  /** Actions of the account that were claimed at or after `since` (unix milliseconds) and carry no fee by right. */
  freeSince(account: Address, since: number): Promise<number>;
  /**
   * Claims an absent or open slot for a version, whichever it was at. `after`: the head that the caller has judged the
   * action by.
   */
  claim(version: Version, nextFee: bigint | null, after: number): Promise<Claim>;
  /**
   * After an attempt that never left: see `released`. False, and nothing moves, where the sender has the attempt as
   * anything but refused: another process was about to hand it over.
   */
  release(slot: Slot): Promise<boolean>;
  /**
   * Whether the slot is claimed for this very attempt, to the end of the transaction: what a process that hung for a
   * while must know before it hands the attempt over.
   */
  holds(slot: Slot, trx: unknown): Promise<boolean>;
  /** After an attempt that left and cannot execute: see `retried`. */
  retry(slot: Slot): Promise<boolean>;
  /**
   * Claimed slots that are not settled and whose deadline is at or after `since` (unix seconds), those that end first
   * first: what a restart may have interrupted.
   */
  unsettledSince(since: number, limit: number): Promise<Slot[]>;
  /** A durable write without effect; rejects while the store takes none. */
  probe: () => Promise<void>;
  /** Forgets open slots whose deadline and quote ended before `before` (unix seconds); returns how many. */
  purge(before: number): Promise<number>;
};

export type Pending = { slots: Slot[]; head: number };

export type Claim =
  | { tag: 'claimed'; slot: Slot }
  /** Another action of the account was claimed after `after`: judge again, with it. */
  | { tag: 'overtaken' }
  /** The slot is not open any more. */
  | { tag: 'lost' };

/** More than an account may have under way (RELAY_MAX_PENDING_PER_ACCOUNT). */
const MOST_PENDING = 1_000;

/** Undoes a release: the attempt is in the sender's journal after all. */
class HandedOver extends Error {}

/** A row of the first day of 1970: no day's gas is counted by it. */
const PROBE = 'probe';

type Tables = RelayTables & SenderTables;

/** Nothing of the slot's action is in the books: no receipt of it stands. */
const isUnsettled = (of: ExpressionBuilder<Tables, 'relay_slots'>): Expression<SqlBool> =>
  of.not(
    of.exists(
      of
        .selectFrom('relay_ledger')
        .select('relay_ledger.digest')
        .whereRef('relay_ledger.digest', '=', 'relay_slots.digest'),
    ),
  );

export function createSlotStore(db: Kysely<Tables>, now: () => number = Date.now): SlotStore {
  const find = async (id: SlotId): Promise<Slot | null> => {
    const { module, account, nonce } = idRow(id);
    const row = await db
      .selectFrom('relay_slots')
      .selectAll()
      .where('module', '=', module)
      .where('account', '=', account)
      .where('nonce', '=', nonce)
      .executeTakeFirst();
    return row === undefined ? null : slotOf(row);
  };
  /** Moves a claimed slot of this very attempt. */
  const move = async (from: Slot, to: Slot, trx: Kysely<Tables> = db): Promise<boolean> => {
    const { module, account, nonce } = idRow(from.id);
    const result = await write(trx, (rows) =>
      rows
        .updateTable('relay_slots')
        .set({
          state: to.state,
          attempt: to.attempt,
          was_broadcast: to.wasBroadcast ? 1 : 0,
          updated_at: now(),
        })
        .where('module', '=', module)
        .where('account', '=', account)
        .where('nonce', '=', nonce)
        .where('state', '=', 'claimed')
        .where('digest', '=', from.digest)
        .where('attempt', '=', from.attempt)
        .executeTakeFirst(),
    );
    return result.numUpdatedRows === 1n;
  };

  return {
    find,
    findByDigest: async (digest) => {
      const row = await db
        .selectFrom('relay_slots')
        .selectAll()
        .where('digest', '=', digest)
        .executeTakeFirst();
      return row === undefined ? null : slotOf(row);
    },
    open: async (version) => {
      const at = now();
      const changed = { ...versionRow(version), updated_at: at };
      const opening = (rows: Kysely<Tables>) =>
        rows
          .insertInto('relay_slots')
          .values(freshRow(version, at))
          .onConflict((conflict) =>
            conflict
              .columns(['module', 'account', 'nonce'])
              .doUpdateSet(changed)
              .where('relay_slots.state', '=', 'open'),
          )
          .returningAll()
          .executeTakeFirst();
      const opened = await write(db, opening).catch((error: unknown) => {
        // Expected where another process writes the same digest at the same time: PostgreSQL resolves the conflict of
        // the primary key alone. The row stands now, and is written as any row that stands.
        if (!isUniqueViolation(error)) throw error;
        return write(db, opening);
      });
      const slot = opened === undefined ? await find(version.id) : slotOf(opened);
      if (slot === null) throw new Error('the row of a slot is gone although it was just written');
      return slot;
    },
    quote: async (id, quote, at) => {
      const { module, account, nonce } = idRow(id);
      await write(db, (rows) =>
        rows
          .updateTable('relay_slots')
          .set({
            quote_fee: Number(quote.fee),
            quote_expires_at: quote.expiresAt,
            quote_terms: quote.terms,
            updated_at: now(),
          })
          .where('module', '=', module)
          .where('account', '=', account)
          .where('nonce', '=', nonce)
          .where('state', '=', 'open')
          .where((or) =>
            or.or([
              or('quote_fee', 'is', null),
              or('quote_expires_at', '<', at),
              or('quote_fee', '>', Number(quote.fee)),
              or('quote_terms', 'is', null),
              or('quote_terms', '!=', quote.terms),
            ]),
          )
          .execute(),
      );
      const slot = await find(id);
      return slot === null || slot.state !== 'open' ? null : slot.quote;
    },
    pendingOf: async (account, since) => {
      // One statement: a claim beside it is in both the list and the head, or in neither.
      const rows = await db
        .selectFrom((newest) =>
          newest
            .selectFrom('relay_slots')
            .select((select) => select.fn.max('claim_seq').as('head'))
            .where('account', '=', account)
            .as('newest'),
        )
        .leftJoin('relay_slots', (join) =>
          join
            .on('relay_slots.account', '=', account)
            .on('relay_slots.state', '=', 'claimed')
            .on('relay_slots.deadline', '>=', since)
            .on(isUnsettled),
        )
        .selectAll('relay_slots')
        .select('newest.head')
        .limit(MOST_PENDING)
        .execute();
      // Where nothing is under way the head comes alone.
      const pending = rows.flatMap((row) => (row.digest === null ? [] : [slotOf(row as SlotRow)]));
      return {
        slots: pending.sort((a, b) => (a.claimSeq ?? 0) - (b.claimSeq ?? 0)),
        head: rows[0]?.head ?? 0,
      };
    },
    freeSince: async (account, since) => {
      const row = await db
        .selectFrom('relay_slots')
        .select((select) => select.fn.countAll<string | number>().as('count'))
        .where('account', '=', account)
        .where('is_free', '=', 1)
        .where('claimed_at', '>=', since)
        .where('state', '=', 'claimed')
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },
    claim: async (version, nextFee, after) => {
      const at = now();
      const claimed = {
        ...versionRow(version),
        state: 'claimed' as const,
        next_fee: nextFee === null ? null : Number(nextFee),
        is_free: isCancel(version.action) ? 1 : 0,
        claim_seq: after + 1,
        claimed_at: at,
        updated_at: at,
      };
      try {
        const row = await write(db, (rows) =>
          rows
            .insertInto('relay_slots')
            .values({ ...freshRow(version, at), ...claimed })
            .onConflict((conflict) =>
              conflict
                .columns(['module', 'account', 'nonce'])
                .doUpdateSet(claimed)
                .where('relay_slots.state', '=', 'open'),
            )
            .returningAll()
            .executeTakeFirst(),
        );
        return row === undefined ? { tag: 'lost' } : { tag: 'claimed', slot: slotOf(row) };
      } catch (error) {
        // Expected where two actions of one account come at the same time.
        if (isUniqueViolation(error)) return { tag: 'overtaken' };
        throw error;
      }
    },
    release: async (slot) =>
      await transact(db, async (trx) => {
        // The row first: a hand-over that holds it ends before this look at the journal.
        if (!(await move(slot, released(slot), trx))) return false;
        const alive = await trx
          .selectFrom('sender_intent')
          .select('key')
          .where('key', '=', intentKey(slot.digest, slot.attempt))
          .where('phase', '!=', 'refused')
          .executeTakeFirst();
        if (alive !== undefined) throw new HandedOver();
        return true;
      }).catch((error: unknown) => {
        if (error instanceof HandedOver) return false;
        throw error;
      }),
    holds: (slot, trx) => move(slot, slot, trx as Kysely<Tables>),
    retry: (slot) => move(slot, retried(slot)),
    unsettledSince: async (since, limit) => {
      const rows = await db
        .selectFrom('relay_slots')
        .selectAll()
        .where('state', '=', 'claimed')
        .where('deadline', '>=', since)
        .where(isUnsettled)
        .orderBy('deadline')
        .limit(limit)
        .execute();
      return rows.map(slotOf);
    },
    probe: async () => {
      await write(db, (rows) =>
        rows
          .insertInto('relay_gas')
          .values({ intent_key: PROBE, day: 0, wei: '0' })
          .onConflict((conflict) => conflict.column('intent_key').doUpdateSet({ day: 0 }))
          .execute(),
      );
    },
    purge: async (before) => {
      const result = await db
        .deleteFrom('relay_slots')
        .where('state', '=', 'open')
        .where('attempt', '=', 0)
        .where('deadline', '<', before)
        .where((or) =>
          or.or([or('quote_expires_at', 'is', null), or('quote_expires_at', '<', before)]),
        )
        .executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
