/**
 * Several keepers on one PostgreSQL journal (architecture.md, Store): one leads and sends; the others ask the chain for
 * nothing and take over when it dies, is stopped, or loses its lock. Judged by the chain: every due order is filled
 * once, and the wallets have sent not one transaction more.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, describe, expect, test } from 'vitest';
import { runOnce } from '../../keeper/cli/once.ts';
import { keeperConfigSchema } from '../../keeper/config.ts';
import { createKeeper, type Keeper } from '../../keeper/keeper.ts';
import { storeMigrations } from '../../keeper/journal/migrations.ts';
import { loadConfig } from '../../runtime/config.ts';
import { createLogger } from '../../runtime/logger.ts';
import type { DurablePoint } from '../../runtime/sender/context.ts';
import { openStore } from '../../runtime/store/store.ts';
import { freePort } from '../e2e/stack.ts';
import { useFork } from '../harness/fork.ts';
import { usePostgres } from '../harness/postgres.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { type Child, startChild } from '../start/children.ts';
import { startGate } from './database-gate.ts';
import { useDueOrders } from './due-orders.ts';
import { type JobServer, startJobServer, stopJobServers } from './job-server.ts';
import { balanceOf, fillsOf } from './orders.ts';
import { keeperEnv, until } from './use-keeper.ts';

const COUNT = 10;
const fork = useFork();
const due = useDueOrders(fork, COUNT, 40);
const postgres = usePostgres();
const ENTRY = join(import.meta.dirname, '..', 'kills', 'keeper-entry.ts');
/** One transaction for each order: ten moments at which something can go wrong. */
const APART = { KEEPER_BATCH_MAX: '1', KEEPER_CONCURRENCY: '2' };

/** A process of its own on a machine that is busy. */
const STARTS_WITHIN_MS = 60_000;
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  await stopJobServers();
  await fork.client.setAutomine(true);
});

function envOf(
  database: string,
  source: JobServer,
  more: Record<string, string> = {},
): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'basket-replica-'));
  closing.push(async () => rmSync(folder, { recursive: true, force: true }));
  return keeperEnv(fork, [source.url], folder, {
    env: { DATABASE_URL: database, ...APART, ...more },
  });
}

/** A keeper in this process. */
async function replica(
  env: Record<string, string>,
  onDurablePoint: (point: DurablePoint) => void = () => undefined,
): Promise<Keeper> {
  const config = loadConfig(keeperConfigSchema, env);
  const keeper = await createKeeper(config, createLogger('keeper', config.LOG_LEVEL), {
    dryRun: false,
    serve: true,
    onDurablePoint,
  });
  closing.push(() => keeper.stop());
  keeper.run();
  return keeper;
}

/** A keeper process of its own, as `npm run keeper` starts it, to be killed; resolves once it leads or stands by. */
async function replicaProcess(
  env: Record<string, string>,
): Promise<{ child: Child; url: string; log: string[] }> {
  const port = await freePort();
  const log: string[] = [];
  const child = startChild({
    name: 'keeper',
    entry: ENTRY,
    cwd: tmpdir(),
    env: { PATH: process.env.PATH, LOG_LEVEL: 'info', ...env, KEEPER_PORT: String(port) },
    onLine: (line) => void log.push(line),
  });
  closing.push(() => child.stop(5_000));
  const url = `http://127.0.0.1:${port}`;
  let exited = false;
  void child.exited.then(() => {
    exited = true;
  });
  await until(
    'the process answers',
    async () => {
      if (exited) throw new Error(`the keeper ended:\n${log.join('\n')}`);
      return (await fetch(`${url}/health`).catch(() => null))?.ok === true;
    },
    STARTS_WITHIN_MS,
  );
  return { child, url, log };
}

/** What an operator sees of it: the status and note of `/ready`, and the metric. */
async function shown(
  url: string | null,
): Promise<{ status: number; lead: string; metric: string }> {
  const ready = await fetch(`${url}/ready`);
  const { checks } = (await ready.json()) as {
    checks: { name: string; note?: string; reason?: string }[];
  };
  const lead = checks.find(({ name }) => name === 'lead');
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return {
    status: ready.status,
    lead: lead?.note ?? lead?.reason ?? '',
    metric: /^basket_keeper_leader (\d)$/m.exec(metrics)?.[1] ?? '',
  };
}

const STANDBY = {
  status: 200,
  lead: 'standby: another keeper leads; this one takes over when that one ends',
  metric: '0',
};

async function filledCount(): Promise<number> {
  const fills = await Promise.all(
    due.ids.map((id) => fillsOf(fork, fork.deployment.exitEscrow, id)),
  );
  return fills.filter(({ length }) => length > 0).length;
}

const allFilled = async (): Promise<boolean> => (await filledCount()) === COUNT;

/** Once each, and nothing besides: the wallet's count tells of any further transaction, be it mined or waiting. */
async function expectOnceEach(executor: `0x${string}`, transactions = COUNT): Promise<void> {
  for (const id of due.ids) {
    expect(await fillsOf(fork, fork.deployment.exitEscrow, id)).toHaveLength(1);
  }
  for (const blockTag of ['latest', 'pending'] as const) {
    const count = await fork.client.getTransactionCount({ address: executor, blockTag });
    expect([blockTag, count]).toEqual([blockTag, transactions]);
  }
}

async function proxied(): Promise<Proxy> {
  const proxy = await startProxy(fork.url);
  closing.push(() => proxy.stop());
  return proxy;
}

/** The server ends every connection that holds an advisory lock: whoever leads has lost the lead. */
async function breakLocks(database: string): Promise<() => Promise<void>> {
  const store = await openStore({ url: database, migrations: storeMigrations });
  closing.push(() => store.close());
  return async () => {
    await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`.execute(
      store.db,
    );
  };
}

describe('two keepers on one database', () => {
  test('one fills every order once; the other asks the chain for nothing, and leads once the first is stopped', async () => {
    const database = await postgres.database('stopped');
    const source = await startJobServer();
    source.jobs(due.jobs);
    const proxy = await proxied();
    const first = await replica(envOf(database, source));
    const second = await replica(envOf(database, source, { RPC_URLS: proxy.url }));
    await until('every order is filled', allFilled);
    expect(await shown(first.url)).toMatchObject({ lead: 'leads', metric: '1' });
    expect(await shown(second.url)).toEqual(STANDBY);
    expect(proxy.counts()).toEqual({});
    // It would sit behind the leader for nothing, and may not send beside it.
    const once = loadConfig(keeperConfigSchema, envOf(database, source));
    await expect(
      runOnce(once, createLogger('keeper', 'fatal'), false, () => undefined),
    ).rejects.toThrow(/another keeper leads on this PostgreSQL database/);

    await first.stop();
    await until('the other one leads', async () => second.leads());
    await until('it has looked at the orders', async () => second.status().lastTickMs !== null);
    expect(await shown(second.url)).toMatchObject({ status: 200, lead: 'leads', metric: '1' });
    expect(proxy.counts().eth_sendRawTransaction).toBeUndefined();
    await expectOnceEach(first.executor);
  });

  test('one that cannot reach the chain says so when it is its turn, leaves the lead to others, and leads once it can', async () => {
    const database = await postgres.database('unreachable');
    const source = await startJobServer();
    const proxy = await proxied();
    const first = await replica(envOf(database, source));
    const second = await replica(envOf(database, source, { RPC_URLS: proxy.url }));
    await proxy.pause();
    expect(await shown(second.url)).toEqual(STANDBY);
    await first.stop();
    await until('it says why it does not lead', async () => {
      const { status, lead, metric } = await shown(second.url);
      return status === 503 && metric === '0' && lead.startsWith('the lead could not be taken');
    });
    const third = await replica(envOf(database, source));
    await until('another one leads', async () => third.leads());
    await proxy.resume();
    await until('it stands by', async () => (await shown(second.url)).lead === STANDBY.lead);
    await third.stop();
    await until('it leads', async () => second.leads());
  });

  // Batched: the journal has rows of several orders that one transaction carries.
  test.each<[string, string, { point: DurablePoint; nth: number; batched: boolean }]>([
    ['the node had the bytes, the journal not', 'sent', { point: 'sent', nth: 4, batched: false }],
    ['a batch was stored, not sent', 'batch', { point: 'persisted', nth: 1, batched: true }],
  ])(
    'the leader is killed when %s: the standby does the rest',
    async (_, name, kill) => {
      const database = await postgres.database(name);
      const source = await startJobServer();
      const more = kill.batched ? { KEEPER_BATCH_MAX: '10' } : {};
      const leader = await replicaProcess({
        ...envOf(database, source, more),
        CRASH_AT: kill.point,
        CRASH_NTH: String(kill.nth),
      });
      const standby = await replica(envOf(database, source, more));
      expect(await shown(standby.url)).toEqual(STANDBY);
      source.jobs(due.jobs);
      // A signal's: no code.
      expect(await leader.child.exited).toBe(null);
      expect(await allFilled()).toBe(false);
      await until('every order is filled', allFilled);
      expect(standby.leads()).toBe(true);
      await until('all is settled', async () => (await standby.journal.unsettled(1)).length === 0);
      await expectOnceEach(standby.executor, kill.batched ? 1 : COUNT);
    },
    120_000,
  );
});

describe('a leader that hangs', () => {
  test('loses the lead, though its connection stands; awake again it sends nothing and stands by', async () => {
    const database = await postgres.database('hangs');
    const source = await startJobServer();
    const leader = await replicaProcess(envOf(database, source));
    const standby = await replica(envOf(database, source));
    expect(standby.leads()).toBe(false);
    source.jobs(due.jobs);
    await until('it has filled three', async () => (await filledCount()) >= 3);
    process.kill(leader.child.pid, 'SIGSTOP');
    await until('the standby leads', async () => standby.leads());
    await until('every order is filled', allFilled);
    process.kill(leader.child.pid, 'SIGCONT');
    await until('the old one stands by', async () => (await shown(leader.url)).metric === '0');
    await until('it knows why', async () => (await shown(leader.url)).lead === STANDBY.lead);
    expect(standby.leads()).toBe(true);
    await until('all is settled', async () => (await standby.journal.unsettled(1)).length === 0);
    await expectOnceEach(standby.executor);
  }, 120_000);
});

describe('a leader whose lock breaks', () => {
  test('again and again while it sends: each order is filled once, by one or the other', async () => {
    const database = await postgres.database('locks');
    const breakAll = await breakLocks(database);
    const source = await startJobServer();
    let broken = 0;
    let breaking: Promise<void> = Promise.resolve();
    // Whoever leads loses its lead with every transaction that it has just stored.
    const lose = (point: DurablePoint): void => {
      if (point !== 'persisted' || broken >= 5) return;
      broken += 1;
      breaking = breaking.then(breakAll);
    };
    const first = await replica(envOf(database, source), lose);
    const second = await replica(envOf(database, source), lose);
    expect([first.leads(), second.leads()]).toEqual([true, false]);
    source.jobs(due.jobs);
    await until('every order is filled', allFilled, 50_000);
    await breaking;
    expect(broken).toBeGreaterThan(2);
    await until('one leads', async () => first.leads() !== second.leads());
    const leader = first.leads() ? first : second;
    // What the journal says of the money is what the chain did, whoever wrote it.
    await until(
      'everything is settled',
      async () => (await leader.journal.unsettled(1)).length === 0,
    );
    for (const id of due.ids) {
      const [timeline] = await leader.journal.timeline(id);
      const [fill] = await fillsOf(fork, fork.deployment.exitEscrow, id);
      const mined = timeline?.attempts.filter(({ outcome }) => outcome === 'mined');
      expect(mined).toMatchObject([{ fee_usdg: String(fill?.args.executorFee), settled: 1 }]);
    }
  });

  test('by its own database going away says so in /ready, and leads again when it is back', async () => {
    const database = await postgres.database('gone');
    const source = await startJobServer();
    const gate = await startGate(database);
    closing.push(() => gate.close());
    const keeper = await replica(envOf(gate.url, source));
    expect(keeper.leads()).toBe(true);
    await gate.shut();
    await until('it does not lead', async () => !keeper.leads());
    await until('it says why', async () => {
      const { status, lead } = await shown(keeper.url);
      return status === 503 && lead.startsWith('the database does not answer');
    });
    await gate.open();
    await until('it leads again', async () => keeper.leads());
    source.jobs(due.jobs);
    await until('every order is filled', allFilled);
    await expectOnceEach(keeper.executor);
  });
});

describe('several wallets', () => {
  test('send at the same time, and every fee reaches the executor', async () => {
    const { usdg } = fork.deployment;
    const source = await startJobServer();
    const folder = mkdtempSync(join(tmpdir(), 'basket-wallets-'));
    closing.push(async () => rmSync(folder, { recursive: true, force: true }));
    const owners = [fork.accounts.keeper, fork.accounts.dave];
    const addresses = owners.map(({ account }) => account.address);
    const keeper = await replica(
      keeperEnv(fork, [source.url], folder, {
        env: {
          ...APART,
          KEEPER_CONCURRENCY: '10',
          WALLET_PRIVATE_KEYS: owners.map(({ privateKey }) => privateKey).join(','),
        },
      }),
    );
    expect(keeper.executor).toBe(addresses[0]);
    const balances = (): Promise<bigint[]> =>
      Promise.all(addresses.map((address) => balanceOf(fork, usdg, address)));
    const [executorBefore = 0n, otherBefore = 0n] = await balances();
    await fork.client.setAutomine(false);
    source.jobs(due.jobs);
    const waiting = (): Promise<number[]> =>
      Promise.all(
        addresses.map((address) =>
          fork.client.getTransactionCount({ address, blockTag: 'pending' }),
        ),
      );
    await until('all of them wait for one block', async () => {
      const counts = await waiting();
      return counts.reduce((sum, count) => sum + count, 0) === COUNT;
    });
    // Which one of them a further job goes to is the less loaded one's at that moment.
    expect(Math.min(...(await waiting()))).toBeGreaterThanOrEqual(COUNT / 5);
    await fork.client.mine({ blocks: 1 });
    await fork.client.setAutomine(true);
    await until('every order is filled', allFilled);
    const fees = (
      await Promise.all(due.ids.map((id) => fillsOf(fork, fork.deployment.exitEscrow, id)))
    ).flat();
    expect(fees).toHaveLength(COUNT);
    const [executorAfter, otherAfter] = await balances();
    expect(executorAfter).toBe(
      executorBefore + fees.reduce((sum, { args }) => sum + args.executorFee, 0n),
    );
    expect(otherAfter).toBe(otherBefore);
  });
});
