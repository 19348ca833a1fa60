/**
 * One process reads the chain into the store, the others serve what it wrote. What must hold:
 * 1. Only the newest lead writes: every transaction checks its epoch under a row lock, so one that was overtaken is
 *    undone as a whole, and a new leader's first look comes after the last write of the one before.
 * 2. A leader that is gone is followed within a round of the loop and what the server needs to notice.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Logger } from '../../runtime/logger.ts';
import type { Leadership } from '../../runtime/store/leadership.ts';
import type { Store } from '../../runtime/store/store.ts';
import type { CheckpointTables } from './checkpoints.ts';

/** Runs the work in one store transaction of whoever leads. @throws Overtaken when that is another process. */
export type WriteTransaction<DB> = <T>(work: (trx: Transaction<DB>) => Promise<T>) => Promise<T>;

/** Another process leads by now: nothing of the transaction was written. */
export class Overtaken extends Error {
  constructor() {
    super('another process leads the index by now: nothing was written');
    this.name = 'Overtaken';
  }
}

const NAME = 'indexer';

export class IndexLead<DB extends CheckpointTables> {
  readonly #store: Store<DB>;
  readonly #leadership: Leadership;
  readonly #logger: Logger;
  #lead: { term: number; epoch: number } | null = null;

  constructor(options: { store: Store<DB>; leadership: Leadership; logger: Logger }) {
    this.#store = options.store;
    this.#leadership = options.leadership;
    this.#logger = options.logger;
  }

  get leads(): boolean {
    return this.#lead !== null;
  }

  /**
   * Takes the lead, keeps it, or finds that another has it.
   * @returns `taken` when it is new: whatever was known of the rows may be old then.
   * @throws what the store throws.
   */
  async take(): Promise<'taken' | 'kept' | 'follows'> {
    const term = await this.#leadership.claim();
    if (term !== null && term === this.#lead?.term) return 'kept';
    const led = this.leads;
    this.#lead = null;
    if (term === null) {
      if (led)
        this.#logger.warn('another process leads the index now, or nobody: this one follows');
      return 'follows';
    }
    this.#lead = { term, epoch: await this.#nextEpoch() };
    this.#logger.info({ epoch: this.#lead.epoch }, 'this process leads the index');
    return 'taken';
  }

  /** Lets another process lead. */
  async release(): Promise<void> {
    this.#lead = null;
    await this.#leadership.release();
  }

  /** See {@link WriteTransaction}. */
  readonly write: WriteTransaction<DB> = async (work) => {
    const { db } = this.#store;
    const lead = this.#lead;
    if (lead === null) throw new Overtaken();
    return await db.transaction().execute(async (trx) => {
      if (this.#isShared && (await epochIn(trx)) !== lead.epoch) throw new Overtaken();
      return await work(trx);
    });
  };

  /** A SQLite file has one writer. */
  get #isShared(): boolean {
    return this.#store.dialect === 'postgres';
  }

  async #nextEpoch(): Promise<number> {
    if (!this.#isShared) return 0;
    const db = this.#store.db as unknown as Kysely<CheckpointTables>;
    const row = await db
      .insertInto('index_lead')
      .values({ name: NAME, epoch: 1 })
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet((set) => ({ epoch: set('index_lead.epoch', '+', 1) })),
      )
      .returning('epoch')
      .executeTakeFirstOrThrow();
    return row.epoch;
  }
}

/** The newest lead's, locked to the end of the transaction. */
async function epochIn<DB extends CheckpointTables>(trx: Transaction<DB>): Promise<number | null> {
  const own = trx as unknown as Transaction<CheckpointTables>;
  const row = await own
    .selectFrom('index_lead')
    .select('epoch')
    .where('name', '=', NAME)
    .forUpdate()
    .executeTakeFirst();
  return row?.epoch ?? null;
}
