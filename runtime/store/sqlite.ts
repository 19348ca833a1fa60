/**
 * SQLite for kysely through libsql, whose binary ships inside the registry package.
 *
 * Durability is the point: WAL with synchronous FULL, so a row that was written before a broadcast survives the
 * machine. libsql binds `undefined` silently as NULL and keeps a `_metadata` key in rows of `.get()`: the first is
 * refused here, the second avoided by `.all()`.
 */
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Dialect, SqliteDatabase, SqliteStatement } from 'kysely';
import Database from 'libsql';
import { faultLine } from '../fault-line.ts';
import { makeFolder } from '../make-folder.ts';
import { bound } from './bound.ts';
import { StoreError, StoreHeldError } from './errors.ts';
import { OffThreadDialect } from './off-thread.ts';

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
  return told(file.path, () => {
    if (!file.inMemory) makeFolder(dirname(file.path));
    const raw = new Database(file.path);
    const dialect = dialectOf(raw, file.path);
    try {
      raw.pragma('busy_timeout = 5000');
      if (options.readOnly === true) {
        raw.pragma('query_only = ON');
        return dialect;
      }
      raw.pragma('journal_mode = WAL');
      raw.pragma('synchronous = FULL');
      // Pages: four times the default, so that a page of an index that every commit touches is written back less often.
      raw.pragma('wal_autocheckpoint = 4000');
      raw.pragma('foreign_keys = ON');
      return dialect;
    } catch (error) {
      raw.close();
      throw error;
    }
  });
}

const DAMAGED: ReadonlySet<string> = new Set(['SQLITE_NOTADB', 'SQLITE_CORRUPT']);
const OUT_OF_REACH: ReadonlySet<string> = new Set([
  'SQLITE_CANTOPEN',
  'SQLITE_PERM',
  'SQLITE_READONLY',
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'EACCES',
  'EEXIST',
  'ENOTDIR',
  'EROFS',
  'ENOSPC',
  'EPERM',
]);

/** Runs `work`; what it throws of a file that is damaged or out of reach says which file it is and what to do. */
function told<T>(path: string, work: () => T): T {
  try {
    return undamaged(path, work);
  } catch (error) {
    throw outOfReach(path, error);
  }
}

/** Runs a query; what it throws of a damaged file says which file it is and what to do. */
function undamaged<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw damage(path, error);
  }
}

function damage(path: string, error: unknown): unknown {
  const code = codeOf(error);
  if (!DAMAGED.has(code)) return error;
  return new StoreError(
    `${path} is damaged or no SQLite database (${faultLine(error)}): put a backup in its place, or move it away to begin with an empty one, or set DATABASE_URL`,
    { cause: error, code },
  );
}

function dialectOf(raw: Database.Database, path: string): Dialect {
  return new OffThreadDialect({ database: adapt(raw, path) }, raw, async (work) => {
    try {
      return await work();
    } catch (error) {
      throw damage(path, error);
    }
  });
}

const codeOf = (error: unknown): string =>
  error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? '') : '';

function outOfReach(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreError) return error;
  const code = codeOf(error);
  const options = { cause: error, ...(code === '' ? {} : { code }) };
  // libsql gives no code where the file cannot be opened at all.
  if (OUT_OF_REACH.has(code) || error.message.includes('Unable to open connection')) {
    return new StoreError(
      `${path} cannot be used (${code === '' ? 'it cannot be opened' : faultLine(error)}): check the rights on it and its folder, the space on its disk, and DATABASE_URL`,
      options,
    );
  }
  return error;
}

/**
 * Holds the data folder for this process: an exclusive transaction on a file of its own beside the database. The
 * system drops the lock with the process, however it ends, so no stale lock is ever to be cleaned up by hand.
 */
export function lockSqlite(file: SqliteFile): { release(): void } {
  if (file.inMemory) return { release: () => undefined };
  const path = `${file.path}.lock`;
  const lock = told(path, () => {
    makeFolder(dirname(file.path));
    return new Database(path);
  });
  try {
    undamaged(path, () => {
      lock.pragma('busy_timeout = 0');
      lock.exec('BEGIN EXCLUSIVE');
    });
  } catch (error) {
    lock.close();
    // expected: SQLITE_BUSY is the answer to "does somebody hold it?"
    if ((error as { code?: string }).code === 'SQLITE_BUSY') {
      throw new StoreHeldError(
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

function adapt(raw: Database.Database, path: string): SqliteDatabase {
  const cache = new Map<string, SqliteStatement>();
  return {
    prepare(sql) {
      const known = cache.get(sql);
      if (known) return known;
      const statement = undamaged(path, () => raw.prepare(sql));
      const adapted: SqliteStatement = {
        reader: statement.reader,
        all: (parameters) => undamaged(path, () => statement.all(bound(parameters))),
        run: (parameters) => {
          const { changes, lastInsertRowid } = undamaged(path, () =>
            statement.run(bound(parameters)),
          );
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
