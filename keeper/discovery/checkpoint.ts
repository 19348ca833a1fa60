/** The part of the book that is settled, in the keeper's store: a restart goes on from there. */
import type { Kysely } from 'kysely';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { type Book, type OpenItem, readItem, writeItem } from './book.ts';
import type { DiscoveryTables } from './tables.ts';

/** A block that was read to its end. */
export type Kept = { block: number; hash: string };

const ROW = 1;
/** Rows of one statement: SQLite takes so many parameters at least. */
const CHUNK = 200;

export class Checkpoints {
  readonly #db: Kysely<DiscoveryTables>;
  readonly #deployment: string;
  readonly #keeps: boolean;

  /** @param keeps false: what is kept is read, and nothing is written */
  constructor(db: Kysely<DiscoveryTables>, deployment: Deployment, keeps = true) {
    const { startBlock, exitEscrow, limitEscrow, scheduleEscrow, coverMarket } = deployment;
    this.#db = db;
    this.#keeps = keeps;
    this.#deployment = [startBlock, exitEscrow, limitEscrow, scheduleEscrow, coverMarket]
      .join()
      .toLowerCase();
  }

  /** Null where nothing is kept, or what is kept is of another deployment (and gone then). */
  async load(): Promise<(Kept & { items: OpenItem[] }) | null> {
    const row = await this.#db.selectFrom('keeper_discovery').selectAll().executeTakeFirst();
    if (row === undefined) return null;
    if (row.deployment !== this.#deployment) {
      await this.clear();
      return null;
    }
    const rows = await this.#db.selectFrom('keeper_open').select('item').execute();
    const items = rows.map(({ item }) => readItem(item));
    return { block: row.block, hash: row.block_hash, items };
  }

  /**
   * Writes what has changed since the last time. Another keeper on the same rows may be further: its rows stay, and
   * the changes are written with a later block of ours.
   */
  async save({ block, hash }: Kept, book: Book): Promise<void> {
    if (!this.#keeps) {
      book.changesKept();
      return;
    }
    const changes = book.changes();
    const written = await this.#db.transaction().execute(async (trx) => {
      const held = await trx.selectFrom('keeper_discovery').select('block').executeTakeFirst();
      if (held !== undefined && held.block > block) return false;
      const row = { id: ROW, deployment: this.#deployment, block, block_hash: hash };
      await trx
        .insertInto('keeper_discovery')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
        .execute();
      for (let start = 0; start < changes.length; start += CHUNK) {
        const keys = changes.slice(start, start + CHUNK);
        await trx.deleteFrom('keeper_open').where('item_key', 'in', keys).execute();
        const rows = keys.flatMap((key) => {
          const item = book.get(key);
          return item === null ? [] : [{ item_key: key, item: writeItem(item) }];
        });
        if (rows.length > 0) await trx.insertInto('keeper_open').values(rows).execute();
      }
      return true;
    });
    if (written) book.changesKept();
  }

  async clear(): Promise<void> {
    if (!this.#keeps) return;
    await this.#db.transaction().execute(async (trx) => {
      await trx.deleteFrom('keeper_open').execute();
      await trx.deleteFrom('keeper_discovery').execute();
    });
  }
}
