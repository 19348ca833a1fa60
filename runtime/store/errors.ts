/** What is wrong with a store: how it was opened, or that it cannot be reached. */
import { OperatorError } from '../operator-error.ts';

/** The store cannot be opened or used as asked; the message is for an operator and carries no secret. */
export class StoreError extends OperatorError {
  /** The database's own, where it has one. */
  readonly code: string | null;

  constructor(message: string, options: { cause?: unknown; code?: string } = {}) {
    super(message, options);
    this.name = 'StoreError';
    this.code = options.code ?? null;
  }
}

/** Another process has the lock that was asked for. */
export class StoreHeldError extends StoreError {}

/**
 * Codes of Node's sockets and names; of PostgreSQL: connection exceptions, too many connections, a server that shuts
 * down, starts or ends idle transactions, a statement that took too long, a standby that a write came to; of SQLite:
 * another process holds the file for longer than the busy timeout.
 */
const UNREACHABLE =
  /^(?:ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|08\w{3}|53300|57P0[1235]|57014|25P0[34]|25006|SQLITE_(?:BUSY|LOCKED)\w*)$/;

/** pg's own words for a connection that broke or never came: they have no code. */
const PG_WORDS =
  /^(?:timeout exceeded when trying to connect|Connection terminated|Query read timeout|timeout expired$|Client (?:has encountered a connection error|was closed) and is not queryable)/;

const MOST_CAUSES = 5;

/** True when the store could not be asked, or did not answer in time: nothing is wrong with what was asked. */
export function isStoreFault(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < MOST_CAUSES && current instanceof Error; depth += 1) {
    if ('code' in current && UNREACHABLE.test(String(current.code))) return true;
    if (PG_WORDS.test(current.message)) return true;
    current = current.cause;
  }
  return false;
}

/** True when a row was refused because another one holds its unique key: PostgreSQL's code, or SQLite's. */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return (
    error.code === '23505' || /^SQLITE_CONSTRAINT(_UNIQUE|_PRIMARYKEY)$/.test(String(error.code))
  );
}
