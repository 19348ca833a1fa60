/**
 * What waits for the disk, or takes long, away from the event loop: libsql runs what is asked of it asynchronously on
 * threads of its own. That is every commit (the process goes on with something else until the disk has it, and what is
 * written meanwhile is committed together next, see writes.ts) and a statement that binds much. The way there and back
 * costs more than a small statement takes, so those run where they are.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
} from 'kysely';
import type Database from 'libsql';
import AsyncDatabase from 'libsql/promise';
import { bound } from './bound.ts';

/** Characters in one bound value. */
const LARGE = 16_384;

/** Runs what touches the file; what it throws says what to do. */
type Guard = <T>(work: () => Promise<T>) => Promise<T>;

const bindsMuch = ({ parameters }: CompiledQuery): boolean =>
  parameters.some((value) => typeof value === 'string' && value.length > LARGE);

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
        if (!bindsMuch(query)) return await own.executeQuery<R>(query);
        return { rows: await this.#run<R>(query.sql, query.parameters) };
      },
      streamQuery: (query, chunkSize) => own.streamQuery(query, chunkSize),
    };
    return this.#connection;
  }

  override async commitTransaction(): Promise<void> {
    await this.#guard(() => AsyncDatabase.prototype.exec.call(this.#raw, 'commit'));
  }

  async #run<R>(sql: string, parameters: readonly unknown[]): Promise<R[]> {
    return await this.#guard(async () => {
      // Both of libsql's interfaces hold the same native connection, so that a transaction may use both.
      const statement = await AsyncDatabase.prototype.prepare.call(this.#raw, sql);
      return await statement.all(bound(parameters));
    });
  }
}
