/** A dry run sends nothing and writes nothing, whatever it finds, and needs no keeper to be stopped for it. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, expect, test } from 'vitest';
import { runOnce } from '../../keeper/cli/once.ts';
import { keeperConfigSchema } from '../../keeper/config.ts';
import { type StoreTables, storeMigrations } from '../../keeper/journal/migrations.ts';
import { createKeeper } from '../../keeper/keeper.ts';
import { contend } from '../../runtime/store/leadership.ts';
import { loadConfig } from '../../runtime/config.ts';
import { createLogger } from '../../runtime/logger.ts';
import { openStore } from '../../runtime/store/store.ts';
import { useFork } from '../harness/fork.ts';
import { usePostgres } from '../harness/postgres.ts';
import { useDueOrders } from './due-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { keeperEnv, launchKeeper, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
const postgres = usePostgres();
const due = useDueOrders(fork, 1, 200);
const logger = createLogger('keeper', 'fatal');
const folders: string[] = [];
afterEach(async () => {
  await fork.client.setAutomine(true);
  await stopKeepers();
  await stopJobServers();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const pending = async (): Promise<number> => {
  const { pending: count } = await fork.client.request<{
    Parameters: undefined;
    ReturnType: { pending: string };
    Method: 'txpool_status';
  }>({ method: 'txpool_status', params: undefined });
  return Number(count);
};

/** Every row of every table. */
async function rowsOf(url: string): Promise<string> {
  const store = await openStore<StoreTables>({ url, migrations: storeMigrations, readOnly: true });
  try {
    const tables = (await store.db.introspection.getTables()).map(({ name }) => name).toSorted();
    expect(tables).toContain('keeper_decisions');
    const all: unknown[] = [];
    for (const name of tables) {
      const { rows } = await sql`select * from ${sql.table(name)}`.execute(store.db);
      all.push([name, rows]);
    }
    return JSON.stringify(all);
  } finally {
    await store.close();
  }
}

async function dryRun(env: Record<string, string>): Promise<string> {
  const lines: string[] = [];
  const config = loadConfig(keeperConfigSchema, env);
  expect(await runOnce(config, logger, true, (line) => lines.push(line))).toBe(0);
  return lines.join('\n');
}

test('what the journal holds is not sent again when the node has forgotten it', async () => {
  const source = await startJobServer();
  source.jobs([due.first().job]);
  await fork.client.setAutomine(false);
  const keeper = await launchKeeper(fork, [source.url]);
  await keeper.tick();
  await until('it is sent', async () => (await pending()) === 1);
  await keeper.stop();
  await fork.client.request({
    method: 'anvil_dropAllTransactions',
    params: undefined,
  } as never);
  expect(await pending()).toBe(0);
  const before = await rowsOf(keeper.env.DATABASE_URL ?? '');

  const dry = await createKeeper(loadConfig(keeperConfigSchema, keeper.env), logger, {
    dryRun: true,
    serve: false,
  });
  await dry.tick();
  // What has the clock start it in a run writes nothing either.
  for (const job of ['balances', 'statement', 'cover'] as const) await dry.housekeep(job);
  await expect(dry.housekeep('sweep')).rejects.toThrow('sweep');
  await expect(dry.housekeep('prune')).rejects.toThrow('prune');
  expect(await dry.settle(5_000)).toBe(true);
  await dry.stop();

  expect(await pending()).toBe(0);
  expect(await rowsOf(keeper.env.DATABASE_URL ?? '')).toBe(before);
  await fork.client.mine({ blocks: 1 });
  expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(0);
});

test('it runs beside the keeper whose SQLite file it reads', async () => {
  const source = await startJobServer();
  const keeper = await launchKeeper(fork, [source.url]);
  await keeper.tick();
  const before = await rowsOf(keeper.env.DATABASE_URL ?? '');
  source.jobs([due.first().job]);
  const env = { ...keeper.env, KEEPER_DISCOVERY: 'always', KEEPER_RECORD_FILE: 'never/made' };
  expect(await dryRun(env)).toMatch(/would_send {2}fill, expects \$0\.\d+ after/);
  expect(await rowsOf(keeper.env.DATABASE_URL ?? '')).toBe(before);
  expect(existsSync('never')).toBe(false);
  // What the keeper has under way the dry run would not send a second time.
  await keeper.tick();
  expect(await keeper.settle(10_000)).toBe(true);
  expect(await dryRun(keeper.env)).toContain('would have sent 0');
});

test('without a database it makes none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'basket-keeper-'));
  folders.push(folder);
  const source = await startJobServer();
  source.jobs([due.first().job]);
  expect(await dryRun(keeperEnv(fork, [source.url], folder))).toContain('would have sent 1');
  expect(existsSync(join(folder, 'keeper.sqlite'))).toBe(false);
});

test('on PostgreSQL it leaves the lead to the keepers and writes no row', async () => {
  const url = await postgres.database('dry_run');
  const folder = mkdtempSync(join(tmpdir(), 'basket-keeper-'));
  folders.push(folder);
  const source = await startJobServer();
  const env = { ...keeperEnv(fork, [source.url], folder), DATABASE_URL: url };
  source.jobs([due.first().job]);
  expect(await dryRun(env)).toContain('would have sent 1');
  const never = await openStore({ url, migrations: {}, readOnly: true });
  expect(await never.db.introspection.getTables()).toEqual([]);
  await never.close();

  const keeper = await launchKeeper(fork, [source.url], { env: { DATABASE_URL: url } });
  expect(keeper.leads()).toBe(true);
  const before = await rowsOf(url);
  expect(await dryRun(env)).toContain('would have sent 1');
  expect(await rowsOf(url)).toBe(before);
  const other = contend(url, 'keeper-sender');
  expect(await other.claim()).toBe(null);
  await other.release();
});
