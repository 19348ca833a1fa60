/**
 * Several api processes on one PostgreSQL (architecture.md, Store): one reads the chain into it, the others serve; one
 * that dies is followed; the rows are those that one process alone would have written.
 */
import { rmSync } from 'node:fs';
import { sql } from 'kysely';
import { afterEach, describe, expect, test } from 'vitest';
import { IndexLead } from '../../api/indexer/lead.ts';
import { type ApiTables, apiMigrations } from '../../api/tables.ts';
import { SHARE } from '../../contracts-abi/constants.ts';
import { within } from '../../runtime/deadline.ts';
import { createLogger } from '../../runtime/logger.ts';
import { Overtaken } from '../../runtime/store/lead.ts';
import { alone, contend } from '../../runtime/store/leadership.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { startApiProcess } from '../bench/measure/api-process.ts';
import type { ServerProcess } from '../bench/measure/process.ts';
import { until } from '../e2e/stack.ts';
import { useFork } from '../harness/fork.ts';
import { usePostgres } from '../harness/postgres.ts';
import { startGate } from '../keeper/database-gate.ts';
import { dump, openIndex } from './index-under-test.ts';
import { Story, TICKER } from './story.ts';
import { launchApi } from './use-api.ts';

const fork = useFork();
const postgres = usePostgres();
const story = new Story(fork);
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function store(url: string): Promise<Store<ApiTables>> {
  const opened = await openStore<ApiTables>({ url, migrations: apiMigrations });
  closing.push(() => opened.close());
  return opened;
}

async function replica(database: string): Promise<ServerProcess> {
  const server = await startApiProcess(fork.url, fork.manifest, {
    DATABASE_URL: database,
    MARKS_INTERVAL_MS: '1000',
    INDEX_INTERVAL_MS: '200',
    COST_INTERVAL_MS: '3600000',
    LOG_LEVEL: 'warn',
  });
  closing.push(server.stop);
  return server;
}

async function text(server: ServerProcess, path: string): Promise<string> {
  return await (await fetch(`${server.url}${path}`)).text();
}

/** By its metrics and by `/ready`, which must agree. */
async function leads(server: ServerProcess): Promise<boolean> {
  const [metrics, ready] = [await text(server, '/metrics'), await text(server, '/ready')];
  const { checks } = JSON.parse(ready) as { checks: { name: string; note?: string }[] };
  const note = checks.find(({ name }) => name === 'order index')?.note;
  return metrics.includes('basket_api_index_leader 1') && note === 'leader';
}

async function follows(server: ServerProcess): Promise<boolean> {
  const [metrics, ready] = [await text(server, '/metrics'), await text(server, '/ready')];
  return metrics.includes('basket_api_index_leader 0') && ready.includes('"note":"follower"');
}

/** Its open orders, once it lists so many. */
async function ordersOf(server: ServerProcess, count: number): Promise<string> {
  return await until(`${server.url} lists ${count} orders`, async () => {
    const body = await text(server, `/v1/orders/${story.address('alice')}`);
    const { orders = [] } = JSON.parse(body) as { orders?: unknown[] };
    return orders.length === count ? JSON.stringify(orders) : null;
  });
}

/** Once the index has read the newest block: every row is that of a fresh sync. */
async function expectFreshRows(rows: Store<ApiTables>): Promise<void> {
  const head = Number(await fork.client.getBlockNumber());
  await until('the index is at the head', async () => {
    const newest = await rows.db
      .selectFrom('index_checkpoint')
      .select('block')
      .orderBy('block', 'desc')
      .executeTakeFirst();
    return newest?.block === head ? true : null;
  });
  const fresh = await openIndex(fork.url, fork.deployment);
  closing.push(fresh.close);
  await fresh.catchUp();
  expect(await dump(rows)).toBe(await fresh.dump());
}

describe('two replicas', () => {
  test('one leads; the other serves its rows, takes over when it is killed, and again when the lock breaks', async () => {
    const database = await postgres.database('replicas');
    const rows = await store(database);
    const started = await Promise.all([replica(database), replica(database)]);
    const [first, second] = (await leads(started[0])) ? started : started.toReversed();
    if (first === undefined || second === undefined) throw new Error('unreachable');
    expect([await leads(first), await follows(second)]).toEqual([true, true]);

    await story.buy('alice', 6n * SHARE);
    await story.exit('alice', SHARE, false);
    expect(await ordersOf(second, 1)).toBe(await ordersOf(first, 1));
    const history = await text(second, `/v1/nav/${TICKER}/history?res=1h&days=1&format=close`);
    expect(JSON.parse(history)).toMatchObject({ ticker: TICKER, close: expect.any(Array) });

    process.kill(first.pid, 'SIGKILL');
    await story.exit('alice', SHARE, false);
    await ordersOf(second, 2);
    expect(await leads(second)).toBe(true);
    await expectFreshRows(rows);

    // The server loses the leader's connection: whoever leads then, one does, and goes on.
    const third = await replica(database);
    expect(await follows(third)).toBe(true);
    await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'`.execute(
      rows.db,
    );
    await story.exit('alice', SHARE, false);
    expect(await ordersOf(third, 3)).toBe(await ordersOf(second, 3));
    await until('one leads', async () => {
      const now = [await leads(second), await leads(third)];
      return now.filter(Boolean).length === 1 ? true : null;
    });
    await expectFreshRows(rows);
  }, 180_000);
});

/** The api on a database of its own, by way of a gate. */
async function apiBehindGate(name: string) {
  const gate = await startGate(await postgres.database(name));
  closing.push(() => gate.close());
  const api = await launchApi(fork.url, fork.deployment, {
    DATABASE_URL: gate.url,
    INDEX_INTERVAL_MS: '200',
  });
  closing.push(async () => rmSync(api.folder, { recursive: true, force: true }));
  await api.settled();
  return { gate, api };
}

describe('a server that falls silent', () => {
  test('holds up neither a stop nor who asks for the lead', async () => {
    const { gate, api } = await apiBehindGate('silent');
    const other = await postgres.database('silent_too');
    const second = await startGate(other);
    closing.push(() => second.close());
    const leadership = contend(second.url, 'test');
    expect(await leadership.claim()).toBe(1);
    gate.silence();
    second.silence();
    const answers = [leadership.claim(), api.stop().then(() => null)];
    // Within what a process has for its stop.
    expect(await within(Promise.all(answers), 20_000, 'the stop')).toEqual([null, null]);
    expect(leadership.fault()).not.toBeNull();
  });
});

describe('connections that fall silent, of a server that is well', () => {
  test('are given up: what is asked next goes over new ones', async () => {
    const { gate, api } = await apiBehindGate('silent_connections');
    closing.push(() => api.stop());
    await story.buy('alice', 2n * SHARE);
    gate.silence();
    const block = Number(await fork.client.getBlockNumber({ cacheTime: 0 }));
    await story.exit('alice', SHARE, false);
    await api.until(
      `/v1/orders/${story.address('alice')}`,
      ({ status, body }) => status === 200 && Number(body.asOfBlock) > block,
      60_000,
    );
    await fork.client.mine({ blocks: 1 });
    await api.until('/ready', ({ status }) => status === 200);
  }, 120_000);
});

describe('a leader that was overtaken', () => {
  test('writes nothing, though it has not noticed', async () => {
    const database = await postgres.database('overtaken');
    const logger = createLogger('api', 'fatal');
    const leadOn = async () => {
      const lead = new IndexLead<ApiTables>({
        store: await store(database),
        leadership: contend(database, 'test'),
        logger,
      });
      closing.push(() => lead.release());
      return lead;
    };
    const [old, next] = [await leadOn(), await leadOn()];
    const write = (lead: typeof old, block: number) =>
      lead.write((trx) =>
        trx
          .insertInto('index_checkpoint')
          .values({ block, hash: `0x${block}` })
          .execute(),
      );
    expect([await old.take(), await next.take()]).toEqual(['taken', 'follows']);
    expect(await old.take()).toBe('kept');
    await write(old, 1);
    await expect(write(next, 2)).rejects.toThrow(Overtaken);

    const { db } = await store(database);
    const locks = sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'`;
    await locks.execute(db);
    await until('the next one leads', async () => ((await next.take()) === 'taken' ? true : null));
    await expect(write(old, 3)).rejects.toThrow(Overtaken);
    await write(next, 4);
    expect(await old.take()).toBe('follows');
    const blocks = await db
      .selectFrom('index_checkpoint')
      .select('block')
      .orderBy('block')
      .execute();
    expect(blocks.map(({ block }) => block)).toEqual([1, 4]);
  });

  test('is unheard of on SQLite: the one process leads', async () => {
    const lead = new IndexLead<ApiTables>({
      store: await store('file::memory:'),
      leadership: alone,
      logger: createLogger('api', 'fatal'),
    });
    expect([await lead.take(), await lead.take()]).toEqual(['taken', 'kept']);
    expect(await lead.write(async () => 'written')).toBe('written');
  });
});
