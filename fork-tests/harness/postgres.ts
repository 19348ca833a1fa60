/** A real PostgreSQL for the tests of a file. */
import { afterAll, beforeAll } from 'vitest';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

export type Postgres = Pick<PostgresServer, 'database'>;

/** Registers the hooks; databases can be made inside tests and hooks of the file. */
export function usePostgres(): Postgres {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());
  return {
    database: async (name) => {
      if (server === undefined) throw new Error('PostgreSQL runs inside tests only');
      return await server.database(name);
    },
  };
}
