/**
 * What waits for the disk, or takes long, away from the event loop: libsql runs what is asked of it asynchronously on
 * threads of its own. That is every commit (the process goes on with something else until the disk has it, and what is
 * written meanwhile is committed together next, see writes.ts) and a statement that binds much. The way there and back
 * costs more than a small statement takes, so those run where they are.
 */
import {
  CompiledQuery,
  type DatabaseConnection,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  type TransactionSettings,
} from 'kysely';
import type Database from 'libsql';
import AsyncDatabase from 'libsql/promise';
import { within } from '../deadline.ts';
import { bound } from './bound.ts';

/** Longer than a statement waits for another process (sqlite.ts). */
const CLOSE_MS = 15_000;
/** Characters, or bytes, in one bound value: what takes longer than the way there and back in a busy process. */
const LARGE = 262_144;

type AsyncStatement = {
  readonly reader: boolean;
  all(parameters: readonly unknown[]): Promise<unknown[]>;
};

const away = AsyncDatabase.prototype as unknown as {
  prepare: (this: Database.Database, sql: string) => Promise<AsyncStatement>;
  exec: (this: Database.Database, sql: string) => Promise<void>;
};

const WRITTEN = CompiledQuery.raw('select changes() as count, last_insert_rowid() as id');

/** Runs what touches the file; what it throws says what to do. */
type Guard = <T>(work: () => Promise<T>) => Promise<T>;

const bindsMuch = ({ parameters }: CompiledQuery): boolean =>
  parameters.some(
    (value) => (typeof value === 'string' || value instanceof Uint8Array) && value.length > LARGE,
  );

const WRITES: ReadonlySet<string> = new Set([
  'InsertQueryNode',
  'UpdateQueryNode',
  'DeleteQueryNode',
]);
const writes = ({ query }: CompiledQuery): boolean => WRITES.has(query.kind);

/** kysely's dialect of SQLite. `config` is of `raw`; `guard` is for what does not go through it. */
export class OffThreadDialect extends SqliteDialect {
  readonly #make: () => SqliteDriver;

  constructor(config: SqliteDialectConfig, raw: Database.Database, guard: Guard) {
    super(config);
    this.#make = () => new OffThreadDriver(config, raw, guard);
  }

  override createDriver(): SqliteDriver {
    return this.#make();
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter();
  }
}

/** SQLite undoes what it was told of tables as it undoes rows: a migration that breaks off leaves nothing of itself. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** kysely's driver; its lock on the one connection holds until a statement is back from the other thread. */
class OffThreadDriver extends SqliteDriver {
  readonly #raw: Database.Database;
  readonly #guard: Guard;
  #connection: DatabaseConnection | null = null;

  constructor(config: SqliteDialectConfig, raw: Database.Database, guard: Guard) {
    super(config);
    this.#raw = raw;
    this.#guard = guard;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const own = await super.acquireConnection();
    this.#connection ??= {
      executeQuery: async <R>(query: CompiledQuery) => {
        const run = () =>
          bindsMuch(query) ? this.#large<R>(own, query) : own.executeQuery<R>(query);
        return writes(query) && !this.#raw.inTransaction ? await this.#alone(run) : await run();
      },
      streamQuery: (query, chunkSize) => own.streamQuery(query, chunkSize),
    };
    return this.#connection;
  }

  /**
   * With the file's write lock from the start: a write that met another process's in the middle would leave its
   * statement open in libsql, and no commit passes until that is collected. `exec` leaves none.
   */
  override async beginTransaction(
    _connection?: DatabaseConnection,
    { accessMode }: TransactionSettings = {},
  ): Promise<void> {
    await this.#exec(accessMode === 'read only' ? 'begin' : 'begin immediate');
  }

  override async commitTransaction(): Promise<void> {
    await this.#exec('commit');
  }

  /** SQLite itself undoes a transaction whose disk is full: the fault is that, and not that nothing is left to undo. */
  override async rollbackTransaction(): Promise<void> {
    if (this.#raw.inTransaction) await this.#exec('rollback');
  }

  /** After what is under way: closed meanwhile, libsql would keep the file locked until it is collected, or crash. */
  override async destroy(): Promise<void> {
    try {
      await within(super.acquireConnection(), CLOSE_MS, 'the end of what is written');
    } finally {
      await super.destroy();
      await super.releaseConnection();
    }
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    await this.beginTransaction();
    try {
      const result = await work();
      await this.commitTransaction();
      return result;
    } catch (error) {
      await this.rollbackTransaction();
      throw error;
    }
  }

  async #large<R>(
    own: DatabaseConnection,
    { sql, parameters }: CompiledQuery,
  ): Promise<QueryResult<R>> {
    // Both of libsql's interfaces hold the same native connection, so that a transaction may use both.
    const statement = await this.#guard(() => away.prepare.call(this.#raw, sql));
    const rows = (await this.#guard(() => statement.all(bound(parameters)))) as R[];
    if (statement.reader) return { rows };
    const { rows: told } = await own.executeQuery<{ count: number; id: number }>(WRITTEN);
    const [written] = told;
    if (written === undefined) throw new Error('SQLite does not say what it wrote');
    return { rows, numAffectedRows: BigInt(written.count), insertId: BigInt(written.id) };
  }

  async #exec(sql: string): Promise<void> {
    await this.#guard(() => away.exec.call(this.#raw, sql));
  }
}
