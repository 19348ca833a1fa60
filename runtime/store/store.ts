/**
 * The store of one process: SQLite in a data folder (`file:` URL) or PostgreSQL (`postgres://`), one schema and one
 * set of queries. Each process brings its own tables as named migrations, which run at boot.
 */
import { existsSync } from 'node:fs';
import { type Dialect, Kysely, type Migration, Migrator } from 'kysely';
import { faultLine } from '../fault-line.ts';
import { StoreError } from './errors.ts';
import { lockPostgres, openPostgres } from './postgres.ts';
import { groupWrites } from './writes.ts';
import { lockSqlite, openSqlite, type SqliteFile, sqlitePath } from './sqlite.ts';

/** Named migrations; names sort within their group ("sender-001-journal") and never change once released. */
export type Migrations = { readonly [name: string]: Migration };

export type StoreOptions = {
  /** `file:.data/relayer.sqlite`, `file::memory:` or `postgres://…`. */
  url: string;
  migrations: Migrations;
  /**
   * Name of what only one process at a time may do with these rows ("relayer-sender"). On SQLite it locks the data
   * file as a whole, on PostgreSQL the name. Absent: shared.
   */
  exclusive?: string;
  /**
   * Nothing is written, rows and schema alike: for what looks at the rows of a process that may be running. A store
   * that no process has used yet is an empty one in memory; one of another version is refused. Never `exclusive`.
   */
  readOnly?: boolean;
  /** PostgreSQL only: the lock's connection broke. The caller must stop sending; default: throws asynchronously. */
  onLockLost?: (reason: string) => void;
};

export type Store<DB> = {
  readonly db: Kysely<DB>;
  readonly dialect: 'sqlite' | 'postgres';
  /** Ends the connections and gives the lock back. Safe to call twice. */
  close(): Promise<void>;
};

/**
 * Opens the store, takes the lock when one is asked for, and brings the schema up to date.
 * @throws StoreError naming what to do: another holder, an unusable URL, a failed migration.
 */
export async function openStore<DB>(options: StoreOptions): Promise<Store<DB>> {
  const { url, readOnly = false } = options;
  if (url.startsWith('file:')) {
    const file = sqlitePath(url);
    return readOnly ? await readFile<DB>(file, options) : await openFile<DB>(file, options);
  }
  if (/^postgres(ql)?:\/\//.test(url)) {
    return readOnly ? await readServer<DB>(options) : await openServer<DB>(options);
  }
  throw new StoreError('the database URL must start with file: or postgres://');
}

const IN_MEMORY: SqliteFile = { path: ':memory:', inMemory: true };

async function readFile<DB>(file: SqliteFile, { migrations }: StoreOptions): Promise<Store<DB>> {
  if (file.inMemory || !existsSync(file.path)) return await emptyStore<DB>(migrations);
  return await readAs<DB>('sqlite', openSqlite(file, { readOnly: true }), migrations);
}

async function readServer<DB>({ url, migrations }: StoreOptions): Promise<Store<DB>> {
  return await readAs<DB>('postgres', openPostgres(url, { readOnly: true }), migrations);
}

const emptyStore = <DB>(migrations: Migrations): Promise<Store<DB>> =>
  openFile<DB>(IN_MEMORY, { url: 'file::memory:', migrations });

async function readAs<DB>(
  dialectName: Store<DB>['dialect'],
  dialect: Dialect,
  migrations: Migrations,
): Promise<Store<DB>> {
  const db = new Kysely<DB>({ dialect });
  try {
    const known = await migratorOf(db, migrations).getMigrations();
    const missing = known.filter(({ executedAt }) => executedAt === undefined);
    if (missing.length === 0) return storeOf(db, dialectName, async () => undefined);
    if (missing.length === known.length) {
      await db.destroy();
      return await emptyStore<DB>(migrations);
    }
    throw new StoreError(
      'the database is of an older version, and nothing is written to it here: the next start of its own process brings it up to date',
    );
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

async function openFile<DB>(file: SqliteFile, options: StoreOptions): Promise<Store<DB>> {
  // The lock first: two processes must not even migrate at once.
  const lock = options.exclusive === undefined ? null : lockSqlite(file);
  try {
    const db = new Kysely<DB>({ dialect: openSqlite(file) });
    groupWrites(db);
    return await ready(db, 'sqlite', options.migrations, async () => lock?.release());
  } catch (error) {
    lock?.release();
    throw error;
  }
}

async function openServer<DB>(options: StoreOptions): Promise<Store<DB>> {
  const lost =
    options.onLockLost ??
    ((reason: string) => {
      throw new StoreError(`lost the exclusive lock: ${reason}`);
    });
  const lock =
    options.exclusive === undefined
      ? null
      : await lockPostgres(options.url, options.exclusive, lost);
  try {
    const db = new Kysely<DB>({ dialect: openPostgres(options.url) });
    return await ready(db, 'postgres', options.migrations, async () => lock?.release());
  } catch (error) {
    await lock?.release();
    throw error;
  }
}

async function ready<DB>(
  db: Kysely<DB>,
  dialect: Store<DB>['dialect'],
  migrations: Migrations,
  release: () => Promise<void>,
): Promise<Store<DB>> {
  try {
    await migrate(db, migrations);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return storeOf(db, dialect, release);
}

function storeOf<DB>(
  db: Kysely<DB>,
  dialect: Store<DB>['dialect'],
  release: () => Promise<void>,
): Store<DB> {
  let closed = false;
  return {
    db,
    dialect,
    close: async () => {
      if (closed) return;
      closed = true;
      try {
        await db.destroy();
      } finally {
        await release();
      }
    },
  };
}

function migratorOf<DB>(db: Kysely<DB>, migrations: Migrations): Migrator {
  return new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...migrations }) },
    // Groups of several modules share the table, and a module may gain a migration after another did.
    allowUnorderedMigrations: true,
  });
}

async function migrate<DB>(db: Kysely<DB>, migrations: Migrations): Promise<void> {
  const { error, results } = await migratorOf(db, migrations).migrateToLatest();
  if (error === undefined) return;
  const failed = results?.find((result) => result.status === 'Error');
  // It says already which file it is and what to do.
  if (error instanceof StoreError) throw error;
  const reason = faultLine(error);
  throw new StoreError(
    failed === undefined
      ? `the database does not match this version: ${reason}`
      : `migration ${failed.migrationName} failed: ${reason}`,
    { cause: error },
  );
}
