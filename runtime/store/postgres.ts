/**
 * PostgreSQL for kysely through pg. One schema and one set of queries with SQLite, so columns are of the kinds both
 * read back alike: text for hashes and chain amounts, 8-byte integers (times, block numbers) as JavaScript numbers.
 */
import { type Dialect, PostgresDialect, type PostgresPoolClient } from 'kysely';
import { Client, type CustomTypesConfig, Pool, type PoolClient, types as pgTypes } from 'pg';
import { DeadlineError, within } from '../deadline.ts';
import { StoreHeldError } from './errors.ts';

/** Any constant will do, as long as every process of this product uses the same one. */
const LOCK_NAMESPACE = 46_630;

const types: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pgTypes.builtins.INT8
      ? Number
      : (pgTypes.getTypeParser(oid, format) as (value: string) => unknown),
};

/** Far longer than any transaction of ours waits between two statements. */
const IDLE_IN_TRANSACTION_MS = 5_000;

/** The server ends a statement after so long, and says so. */
const STATEMENT_MS = 15_000;
/** A connection that says nothing for longer than that will not: what is asked of it next goes over a new one. */
const ANSWER_MS = STATEMENT_MS + 2_000;

/** What a server that may have fallen silent is given to end a connection in, and what is under way on others. */
const END_MS = 1_000;
const END_ALL_MS = 3_000;

/** Ends a connection, or all of them; never throws, and waits for no server that is silent. */
export async function endWithin(connections: Client | Pool): Promise<void> {
  try {
    const ms = connections instanceof Client ? END_MS : END_ALL_MS;
    await within(connections.end(), ms, 'the end of a connection to PostgreSQL');
  } catch {
    // expected: a broken connection has nothing to end, and a silent one never does
    if (connections instanceof Client) connections.connection.stream.destroy();
  }
}

/** @param options.readOnly every write is refused by the server */
export function openPostgres(url: string, options: { readOnly?: boolean } = {}): Dialect {
  const pool = new Pool({
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: 5_000,
    statement_timeout: STATEMENT_MS,
    keepAlive: true,
    // A process that hangs within a transaction keeps its locks, the fence of a lead among them: the server ends it.
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    types,
  });
  // A broken idle connection is replaced by the pool; without a listener the event would end the process.
  pool.on('error', () => undefined);
  // The same of one that a transaction has in hand: its next statement fails, and the transaction with it.
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (options.readOnly === true) {
    // Queued before whatever the connection was opened for; a pooler may refuse it as a start-up option.
    pool.on('connect', (client) => {
      client.query('set default_transaction_read_only = on').catch(() => client.end());
    });
  }
  return new PostgresDialect({
    pool: {
      connect: async () => answering(await pool.connect()),
      end: () => endWithin(pool),
    },
  });
}

/**
 * A connection of the pool that is given up once it does not answer: the server may be well, while what is between here
 * and there has forgotten the connection. What was under way may have been done or not, as where one is cut.
 */
function answering(client: PoolClient): PostgresPoolClient {
  let isSilent = false;
  return {
    query: async (text: string, values: readonly unknown[]) => {
      try {
        return await within(client.query(text, [...values]), ANSWER_MS, 'an answer of PostgreSQL');
      } catch (error) {
        if (error instanceof DeadlineError) {
          isSilent = true;
          client.connection.stream.destroy();
        }
        throw error;
      }
    },
    release: () => client.release(isSilent),
    // Its cursors are not used.
  } as unknown as PostgresPoolClient;
}

/** Takes a session's advisory lock by its name, if nobody has it: `held`. */
export function lockQuery(name: string): { text: string; values: unknown[] } {
  return {
    text: 'select pg_try_advisory_lock($1, hashtext($2)) as held',
    values: [LOCK_NAMESPACE, name],
  };
}

/**
 * A session advisory lock on a connection of its own: the server drops it when this process dies.
 * @param onLost called once when the connection, and with it the lock, is gone.
 */
export async function lockPostgres(
  url: string,
  name: string,
  onLost: (reason: string) => void,
): Promise<{ release(): Promise<void> }> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  let released = false;
  client.on('error', (error) => {
    if (!released) onLost(error.message);
  });
  client.on('end', () => {
    if (!released) onLost('the connection that held the lock ended');
  });
  await client.connect();
  const answer = await client.query<{ held: boolean }>(lockQuery(name));
  if (answer.rows[0]?.held !== true) {
    released = true;
    await endWithin(client);
    throw new StoreHeldError(
      `another process holds "${name}" in this PostgreSQL database; only one may send from its wallets`,
    );
  }
  return {
    release: async () => {
      released = true;
      await endWithin(client);
    },
  };
}
