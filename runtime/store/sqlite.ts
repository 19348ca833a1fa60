/**
 * SQLite for kysely through libsql, whose binary ships inside the registry package.
 *
 * Durability is the point: WAL with synchronous FULL, so a row that was written before a broadcast survives the
 * machine. libsql binds `undefined` silently as NULL and keeps a `_metadata` key in rows of `.get()`: the first is
 * refused here, the second avoided by `.all()`.
 */
import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Dialect, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely';
import Database from 'libsql';
import { StoreError } from './errors.ts';

const STATEMENT_CACHE = 200;

export type SqliteFile = { path: string; inMemory: boolean };

/** `file:relative/path`, `file:/absolute/path`, `file:///absolute/path` or `file::memory:`. */
export function sqlitePath(url: string): SqliteFile {
  const rest = url.slice('file:'.length);
  if (rest === ':memory:') return { path: ':memory:', inMemory: true };
  if (rest === '' || rest.includes('?') || rest.includes('#')) {
    throw new StoreError('a SQLite database is given as file:path, without options');
  }
  const path = rest.startsWith('//') ? fileURLToPath(url) : decodeURIComponent(rest);
  return { path: resolve(path), inMemory: false };
}

/**
 * Opens (and creates) the database file with the pragmas that the journal relies on.
 * @param options.readOnly every write is refused; the file must exist
 */
export function openSqlite(file: SqliteFile, options: { readOnly?: boolean } = {}): Dialect {
  if (!file.inMemory) mkdirSync(dirname(file.path), { recursive: true, mode: 0o700 });
  const raw = new Database(file.path);
  raw.pragma('busy_timeout = 5000');
  if (options.readOnly === true) {
    raw.pragma('query_only = ON');
    return new SqliteDialect({ database: adapt(raw) });
  }
  raw.pragma('journal_mode = WAL');
  raw.pragma('synchronous = FULL');
  raw.pragma('foreign_keys = ON');
  return new SqliteDialect({ database: adapt(raw) });
}

/**
 * Holds the data folder for this process: an exclusive transaction on a file of its own beside the database. The
 * system drops the lock with the process, however it ends, so no stale lock is ever to be cleaned up by hand.
 */
export function lockSqlite(file: SqliteFile): { release(): void } {
  if (file.inMemory) return { release: () => undefined };
  mkdirSync(dirname(file.path), { recursive: true, mode: 0o700 });
  const lock = new Database(`${file.path}.lock`);
  try {
    lock.pragma('busy_timeout = 0');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    // expected: SQLITE_BUSY is the answer to "does somebody hold it?"
    if ((error as { code?: string }).code === 'SQLITE_BUSY') {
      throw new StoreError(
        `${file.path} is open in another process that sends transactions; stop that one, or give this one its own DATABASE_URL`,
      );
    }
    throw error;
  }
  return {
    release: () => {
      lock.exec('ROLLBACK');
      lock.close();
    },
  };
}

function adapt(raw: Database.Database): SqliteDatabase {
  const cache = new Map<string, SqliteStatement>();
  return {
    prepare(sql) {
      const known = cache.get(sql);
      if (known) return known;
      const statement = raw.prepare(sql);
      const adapted: SqliteStatement = {
        reader: statement.reader,
        all: (parameters) => statement.all(bound(parameters)),
        run: (parameters) => {
          const { changes, lastInsertRowid } = statement.run(bound(parameters));
          return { changes, lastInsertRowid };
        },
        iterate: (parameters) => statement.iterate(bound(parameters)),
      };
      if (cache.size >= STATEMENT_CACHE) {
        const oldest = cache.keys().next();
        if (!oldest.done) cache.delete(oldest.value);
      }
      cache.set(sql, adapted);
      return adapted;
    },
    close: () => {
      cache.clear();
      raw.close();
    },
  };
}

function bound(parameters: readonly unknown[]): unknown[] {
  if (parameters.some((value) => value === undefined)) {
    throw new StoreError('a query binds undefined; use null');
  }
  return [...parameters];
}
