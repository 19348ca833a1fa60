/** The relayer's store, as the process and every command open it. */
import { existsSync } from 'node:fs';
import { loadConfig, storeOptions } from '../runtime/config.ts';
import { type SenderTables, senderMigrations } from '../runtime/sender/tables.ts';
import { StoreError } from '../runtime/store/errors.ts';
import { sqlitePath } from '../runtime/store/sqlite.ts';
import { type Migrations, openStore, type Store } from '../runtime/store/store.ts';
import { type RelayTables, relayMigrations } from './migrations.ts';

export type StoreTables = SenderTables & RelayTables;

/** What every opener passes: a store refuses to open without a migration that it has run. */
export const storeMigrations: Migrations = { ...senderMigrations, ...relayMigrations };

/** SQLite file of the relayer when DATABASE_URL is not set. */
export const DEFAULT_DATABASE_URL = 'file:.data/relayer.sqlite';

/** Of what only one process at a time may do with these rows: send. */
export const LEAD_NAME = 'relayer-sender';

/**
 * Runs `work` on the store of the environment beside a relayer that may be running; `readOnly` writes nothing.
 * @throws StoreError for a file to be written that no relayer has made: it is misspelt
 */
export async function besideRelayer<T>(
  env: NodeJS.ProcessEnv,
  readOnly: boolean,
  work: (store: Store<StoreTables>) => Promise<T>,
): Promise<T> {
  const { DATABASE_URL: url = DEFAULT_DATABASE_URL } = loadConfig(storeOptions, env);
  if (!readOnly && url.startsWith('file:')) {
    const { path } = sqlitePath(url);
    if (!existsSync(path)) {
      throw new StoreError(`${path} is no relayer's store: set DATABASE_URL as the relayer has it`);
    }
  }
  const store = await openStore<StoreTables>({ url, migrations: storeMigrations, readOnly });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
