/**
 * Durable writes. A commit to a SQLite file holds the process until the disk has it, so what many callers write in one
 * turn of the event loop is committed together; PostgreSQL groups commits by itself. What must hold:
 * 1. A write's promise resolves only after the commit that holds it: whoever goes on (to a broadcast, say) has it on
 *    disk, and nobody reads of another's write before it is there.
 * 2. A write that fails is undone alone; when the commit itself fails, everyone in it is told so.
 */
import { CompiledQuery, type Kysely, type Transaction } from 'kysely';

type Work<DB, T> = (trx: Transaction<DB>) => Promise<T>;

/** Commits of one file. `single`: one statement, which undoes itself where it fails. */
type Group = <T>(work: Work<never, T>, single: boolean) => Promise<T>;

const groups = new WeakMap<object, Group>();

/** Of so many writes at once at most: what comes later in the same turn is committed after them. */
const MOST_TOGETHER = 200;
const SAVE = CompiledQuery.raw('savepoint one');
const KEEP = CompiledQuery.raw('release one');
const UNDO = CompiledQuery.raw('rollback to one');
const BEGUN = CompiledQuery.raw('savepoint begun');
const LASTS = CompiledQuery.raw('release begun');

/** From now on what is written to this database through this file is committed together. */
export function groupWrites<DB>(db: Kysely<DB>): void {
  groups.set(db, groupOf(db as unknown as Kysely<never>));
}

/**
 * Several statements as one write: all of them stay, or none. `work` writes through `trx` alone; nothing else is read
 * or written meanwhile, so it waits for nothing but the store.
 * @param options.single one statement at most changes anything: where it fails nothing else is to be undone
 */
export async function transact<DB, T>(
  db: Kysely<DB>,
  work: Work<DB, T>,
  { single = false }: { single?: boolean } = {},
): Promise<T> {
  const group = groups.get(db);
  return group === undefined
    ? await db.transaction().execute(work)
    : await group(work as unknown as Work<never, T>, single);
}

/** One statement as a write of its own; within a transaction it is part of that. */
export async function write<DB, T>(
  db: Kysely<DB>,
  work: (db: Kysely<DB>) => Promise<T>,
): Promise<T> {
  const group = groups.get(db);
  return group === undefined
    ? await work(db)
    : await group(work as unknown as Work<never, T>, true);
}

type Waiting = {
  single: boolean;
  /** @param alone nothing else is in the transaction: it fails as a whole */
  run: (trx: Transaction<never>, alone: boolean) => Promise<void>;
  settle: () => void;
  fail: (error: unknown) => void;
};

/** @throws `fault` where SQLite has undone the whole transaction for it, as on a full disk */
async function undo(trx: Transaction<never>, fault: unknown): Promise<void> {
  try {
    await trx.executeQuery(UNDO);
  } catch {
    throw fault;
  }
}

/** After a statement that failed and undid itself. @throws `fault` where the whole transaction is undone for it */
async function lasts(trx: Transaction<never>, fault: unknown): Promise<void> {
  try {
    await trx.executeQuery(LASTS);
  } catch {
    throw fault;
  }
  await trx.executeQuery(BEGUN);
}

function groupOf(db: Kysely<never>): Group {
  let waiting: Waiting[] = [];
  let scheduled = false;

  const commit = async (): Promise<void> => {
    const batch = waiting.slice(0, MOST_TOGETHER);
    waiting = waiting.slice(MOST_TOGETHER);
    try {
      await db.transaction().execute(async (trx) => {
        if (batch.length > 1 && batch.some(({ single }) => single)) await trx.executeQuery(BEGUN);
        for (const one of batch) await one.run(trx, batch.length === 1);
      });
      for (const one of batch) one.settle();
    } catch (error) {
      for (const one of batch) one.fail(error);
    }
    if (waiting.length > 0) setImmediate(() => void commit());
    else scheduled = false;
  };

  return (work, single) =>
    new Promise((resolve, reject) => {
      let settle = (): void => undefined;
      waiting.push({
        single,
        run: async (trx, alone) => {
          const isSaved = !alone && !single;
          if (isSaved) await trx.executeQuery(SAVE);
          try {
            const result = await work(trx);
            settle = () => resolve(result);
          } catch (error) {
            if (alone) throw error;
            await (single ? lasts : undo)(trx, error);
            settle = () => reject(error);
          }
          if (isSaved) await trx.executeQuery(KEEP);
        },
        settle: () => settle(),
        fail: reject,
      });
      if (scheduled) return;
      scheduled = true;
      setImmediate(() => void commit());
    });
}
