/**
 * One process reads the chain into the store, the others serve what it wrote: runtime/store/lead.ts for the index. A
 * leader that is gone is followed within a round of the loop and what the server needs to notice.
 */
import type { Transaction } from 'kysely';
import type { Logger } from '../../runtime/logger.ts';
import { createLead, type Fence, type Lead, Overtaken } from '../../runtime/store/lead.ts';
import type { Leadership } from '../../runtime/store/leadership.ts';
import type { Store } from '../../runtime/store/store.ts';

/** Runs the work in one store transaction of whoever leads. @throws Overtaken when that is another process. */
export type WriteTransaction<DB> = <T>(work: (trx: Transaction<DB>) => Promise<T>) => Promise<T>;

export class IndexLead<DB> {
  readonly #store: Store<DB>;
  readonly #lead: Lead;
  readonly #logger: Logger;
  #fence: Fence | null = null;

  constructor(options: { store: Store<DB>; leadership: Leadership; logger: Logger }) {
    this.#store = options.store;
    this.#lead = createLead({ ...options, name: 'indexer' });
    this.#logger = options.logger;
  }

  get leads(): boolean {
    return this.#fence !== null;
  }

  /**
   * Takes the lead, keeps it, or finds that another has it.
   * @returns `taken` when it is new: whatever was known of the rows may be old then.
   * @throws what the store throws.
   */
  async take(): Promise<'taken' | 'kept' | 'follows'> {
    const led = this.leads;
    const answer = await this.#lead.take().catch((error: unknown) => {
      this.#fence = null;
      throw error;
    });
    if (answer.tag === 'taken') {
      this.#fence = answer.fence;
      this.#logger.info('this process leads the index');
    } else if (answer.tag === 'follows') {
      this.#fence = null;
      if (led)
        this.#logger.warn('another process leads the index now, or nobody: this one follows');
    }
    return answer.tag;
  }

  /** Lets another process lead. */
  async release(): Promise<void> {
    this.#fence = null;
    await this.#lead.release();
  }

  /** See {@link WriteTransaction}. */
  readonly write: WriteTransaction<DB> = async (work) => {
    const fence = this.#fence;
    if (fence === null) throw new Overtaken();
    return await this.#store.db.transaction().execute(async (trx) => {
      await fence.check(trx);
      return await work(trx);
    });
  };
}
