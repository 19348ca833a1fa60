/**
 * Large writes to a SQLite file away from the event loop: libsql runs what is asked of it asynchronously on threads of
 * its own. The way there and back costs more than a small statement takes, so only a statement that binds much goes,
 * and the commit of what it wrote.
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
  /** A large write is in the transaction: its commit is large too. */
  #large = false;

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
        this.#large = true;
        return { rows: await this.#run<R>(query.sql, query.parameters) };
      },
      streamQuery: (query, chunkSize) => own.streamQuery(query, chunkSize),
    };
    return this.#connection;
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    this.#large = false;
    await super.beginTransaction(connection);
  }

  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#large) await this.#run('commit', []);
    else await super.commitTransaction(connection);
  }

  async #run<R>(sql: string, parameters: readonly unknown[]): Promise<R[]> {
    return await this.#guard(async () => {
      // Both of libsql's interfaces hold the same native connection, so that a transaction may use both.
      const statement = await AsyncDatabase.prototype.prepare.call(this.#raw, sql);
      return await statement.all(bound(parameters));
    });
  }
}
