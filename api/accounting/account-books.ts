/**
 * The basis of owners, worked out from their rows. Strangers decide how many rows an owner has: for a few dollars of
 * gas anyone sends him shares a hundred thousand times. What must hold:
 * 1. Rows are read and valued once, however often their owner is asked about: what lies too deep to change is kept.
 * 2. Between two pages everybody else is served.
 * 3. Rows that are not all read in time are a reason to ask again, and each time more of them are done.
 */
import { setImmediate } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { type Address, getAddress } from 'viem';
import { inTurnByKey } from '../../runtime/in-turn.ts';
import {
  type Checkpoint,
  type CheckpointTables,
  latestCheckpoint,
} from '../indexer/checkpoints.ts';
import { type EpochTables, readEpoch } from '../indexer/epoch.ts';
import { apply, type Basis, entryOfTrade, NOTHING, valueOf } from './cost-basis.ts';
import { type AccountRow, NOWHERE, nextRows, type Place } from './owner-rows.ts';
import { ArrivalNavs, type NavAt } from './past-navs.ts';
import type { AccountingTables } from './tables.ts';

export type Books = ReadonlyMap<Address, Basis>;
export type NavNow = (vault: Address) => bigint;

/** How far the index has read, and in which epoch. */
export type Reading = { upTo: Checkpoint; epoch: string };

export type Question = {
  owner: Address;
  reading: Reading;
  /** Rows up to this block, at most what was read. */
  to: number;
  /** What shares enter at whose value at the time nothing tells: neither gain nor loss. */
  navNow: NavNow;
  /** By Date.now(). */
  deadline: number;
};

/** What an owner's rows come to at a place, and how many they are. */
type Kept = { epoch: string; at: Place; books: Books; rows: number };

type Db = Kysely<AccountingTables & CheckpointTables & EpochTables>;

/** Owners with fewer rows are worked out anew: they cost less than their place among those kept. */
const WORTH_KEEPING = 100;
const MOST_OWNERS = 5_000;

export class AccountBooks {
  readonly #db: Db;
  readonly #navAt: NavAt;
  readonly #depth: number;
  /** By owner in lower case, the one kept last at the end. */
  readonly #kept = new Map<string, Kept>();
  readonly #inTurn = inTurnByKey();

  /**
   * @param navAt the NAV history; null where it does not tell (yet).
   * @param depth blocks below what the index has read from which on rows do not change within an epoch.
   */
  constructor(db: Db, navAt: NavAt, depth: number) {
    this.#db = db;
    this.#navAt = navAt;
    this.#depth = depth;
  }

  /** Both of one moment; null before the index's first step. */
  async reading(): Promise<Reading | null> {
    return await this.#db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(async (trx) => {
        const upTo = await latestCheckpoint(trx);
        return upTo === null ? null : { upTo, epoch: await readEpoch(trx) };
      });
  }

  /**
   * The basis of an owner by vault. One question about an owner at a time: the next one finds what this one kept.
   * @returns null where the rows were undone meanwhile, or are too many to be read in time: ask again.
   */
  async basisAt(question: Question): Promise<Books | null> {
    const owner = question.owner.toLowerCase();
    return await this.#inTurn(owner, async () => await this.#basisAt(owner, question));
  }

  /** Books with further rows of the owner, in chain order. */
  async extended(
    books: Books,
    rows: readonly AccountRow[],
    { owner, navNow }: Pick<Question, 'owner' | 'navNow'>,
  ): Promise<Books> {
    return (await this.#fold(books, rows, owner.toLowerCase(), navNow)).books;
  }

  /** Whether the history knows the NAV that shares which arrive at this time (unix seconds of the chain) enter at. */
  async knowsNavAt(vault: Address, time: number): Promise<boolean> {
    return (await this.#navAt(vault, time)) !== null;
  }

  /** What is kept of an owner is not used again. */
  forget(owner: Address): void {
    this.#kept.delete(owner.toLowerCase());
  }

  async #basisAt(owner: string, question: Question): Promise<Books | null> {
    const { reading, to, navNow, deadline } = question;
    const { epoch, upTo } = reading;
    let { at, books, rows } = this.#startOf(owner, epoch, to);
    let isFinal = true;
    for (;;) {
      const page = await nextRows(this.#db, owner, at, to);
      const folded = await this.#fold(books, page.rows, owner, navNow);
      if ((await readEpoch(this.#db)) !== epoch) return null;
      at = page.upTo;
      ({ books } = folded);
      rows += page.rows.length;
      isFinal &&= folded.isFinal && at.block <= upTo.block - this.#depth;
      if (isFinal && rows >= WORTH_KEEPING) this.#keep(owner, { epoch, at, books, rows });
      if (!page.more) return books;
      // After a page, never before: who asks too late still leaves a page less for the next one.
      if (Date.now() > deadline) return null;
      await setImmediate();
    }
  }

  /** What is kept of the owner where it ends at or below the block, else nothing. */
  #startOf(owner: string, epoch: string, to: number): Kept {
    const kept = this.#kept.get(owner);
    if (kept !== undefined && kept.epoch === epoch && kept.at.block <= to) return kept;
    return { epoch, at: NOWHERE, books: new Map(), rows: 0 };
  }

  /** Never less of an epoch than before: a node that lags asks for less. */
  #keep(owner: string, kept: Kept): void {
    const before = this.#kept.get(owner);
    if (before?.epoch === kept.epoch && before.at.block > kept.at.block) return;
    this.#kept.delete(owner);
    this.#kept.set(owner, kept);
    if (this.#kept.size <= MOST_OWNERS) return;
    const oldest = this.#kept.keys().next();
    if (oldest.done !== true) this.#kept.delete(oldest.value);
  }

  /** `isFinal`: every arrival was valued by the history, which tells the same for ever. */
  async #fold(
    before: Books,
    rows: readonly AccountRow[],
    owner: string,
    navNow: NavNow,
  ): Promise<{ books: Books; isFinal: boolean }> {
    const books = new Map(before);
    const navs = new ArrivalNavs(this.#db, this.#navAt);
    let isFinal = true;
    for (const row of rows) {
      const vault = getAddress(row.vault);
      const basis = books.get(vault) ?? NOTHING;
      const shares = BigInt(row.shares);
      if (row.of === 'trade') {
        books.set(vault, apply(basis, entryOfTrade(row)));
      } else if (row.sender === owner) {
        books.set(vault, apply(basis, { tag: 'out', shares }));
      } else {
        const { nav, fromHistory } = await navs.at(vault, row);
        isFinal &&= fromHistory;
        const value = valueOf(shares, nav ?? navNow(vault));
        books.set(vault, apply(basis, { tag: 'in', shares, value }));
      }
    }
    return { books, isFinal };
  }
}
