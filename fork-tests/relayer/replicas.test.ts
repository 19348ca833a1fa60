/**
 * Two relayers on one PostgreSQL database (architecture.md, Store): whichever an action comes to checks and accepts it,
 * the one that leads sends it, and takes nothing with it when it ends. Judged by the chain: every action ran once, and
 * the wallet has sent not one transaction more.
 */
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Hex } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { type Action, actionDigest } from '../../contracts-abi/typed-data.ts';
import { relayMigrations } from '../../relayer/migrations.ts';
import { senderMigrations } from '../../runtime/sender/tables.ts';
import { openStore } from '../../runtime/store/store.ts';
import type { Role } from '../chain/seed/accounts.ts';
import { useFork } from '../harness/fork.ts';
import { usePostgres } from '../harness/postgres.ts';
import { type Agent, buyAction, executions, openAgent, signedBody } from './agent.ts';
import { type RelayerChild, startRelayerChild } from './child.ts';
import {
  clientOf,
  type DataFolder,
  dataFolder,
  type Reply,
  type RelayerClient,
  relayerEnv,
  startTestRelayer,
  type TestRelayer,
  until,
} from './relayer.ts';

const fork = useFork();
const postgres = usePostgres();
const FEE = 400_000n;
const OWNERS: readonly Role[] = ['alice', 'bob', 'carol', 'dave'];
const KILLED_ENTRY = join(import.meta.dirname, '..', 'kills', 'relayer-entry.ts');
const STANDBY = 'standby: another relayer leads; this one takes over when that one ends';
const PROCESSES = 180_000;

const closing: (() => Promise<unknown>)[] = [];
let data: DataFolder;
let database = '';
let number = 0;
let sentBefore = 0;
let baseFee = 0n;

beforeEach(async () => {
  number += 1;
  database = await postgres.database(`relayer${number}`);
  data = dataFolder();
  sentBefore = await sentCount('latest');
  baseFee = (await fork.client.getBlock()).baseFeePerGas ?? 0n;
});
afterEach(async () => {
  await fork.client.setAutomine(true);
  // Not part of a snapshot.
  await fork.client.setNextBlockBaseFeePerGas({ baseFeePerGas: baseFee });
  await fork.client.mine({ blocks: 1 });
  for (const close of closing.splice(0).toReversed()) await close();
  data.remove();
});

const env = (more: Record<string, string> = {}): Record<string, string> => ({
  DATABASE_URL: database,
  RELAY_WAIT_MS: '4000',
  // One fee fits all.
  RELAY_FEE_STEP_USDG: '0.4',
  ...more,
});

async function replica(more: Record<string, string> = {}): Promise<TestRelayer> {
  const started = await startTestRelayer(fork, data, env(more));
  closing.push(() => started.stop());
  return started;
}

/** A process of its own; `CRASH_AT` ends it at a durable point. */
async function replicaProcess(
  more: Record<string, string> = {},
): Promise<RelayerChild & { client: RelayerClient }> {
  const environment = relayerEnv(fork, data, env(more));
  const { child, url } = await startRelayerChild(data.path, environment, KILLED_ENTRY);
  closing.push(() => child.stop(10_000));
  return { child, url, client: clientOf(url) };
}

async function sentCount(blockTag: 'latest' | 'pending'): Promise<number> {
  const { address } = fork.accounts.relayer.account;
  return await fork.client.getTransactionCount({ address, blockTag });
}

const digestOf = (action: Action): Hex => actionDigest(action, fork.deployment.sessionModule);

type Work = { action: Action; body: Awaited<ReturnType<typeof signedBody>> };

async function workOf(agent: Agent, changes: Partial<Action> = {}): Promise<Work> {
  const action = await buyAction(fork, agent, 20n * USD, { fee: FEE, ...changes });
  return { action, body: await signedBody(fork, agent, action) };
}

async function agents(): Promise<Agent[]> {
  const opened: Agent[] = [];
  for (const owner of OWNERS) opened.push(await openAgent(fork, owner));
  return opened;
}

/** So many actions, of all agents in turn. */
async function manyActions(count: number): Promise<{ all: Agent[]; works: Work[] }> {
  const all = await agents();
  const works: Work[] = [];
  for (let index = 0; index < count; index += 1) {
    works.push(await workOf(all[index % all.length] as Agent));
  }
  return { all, works };
}

async function runsOf(all: readonly Agent[]) {
  return (await Promise.all(all.map(({ account }) => executions(fork, account)))).flat();
}

/** The same body again until there is a final answer. */
async function finalAnswer(client: RelayerClient, { body }: Work): Promise<Reply> {
  return await until('a final answer', async () => {
    const reply = await client.post(body);
    return [202, 500, 502, 503, 504].includes(reply.status) ? null : reply;
  });
}

/** Each ran once, with the hash that is told, and the wallet sent nothing besides. */
async function expectOnceEach(
  client: RelayerClient,
  all: readonly Agent[],
  works: readonly Work[],
): Promise<void> {
  for (const work of works) {
    const reply = await finalAnswer(client, work);
    expect([reply.status, reply.body.code]).toEqual([200, undefined]);
    const runs = (await runsOf(all)).filter(({ args }) => args.digest === digestOf(work.action));
    expect(runs.map(({ transactionHash }) => transactionHash)).toEqual([reply.body.hash]);
  }
  expect(await runsOf(all)).toHaveLength(works.length);
  for (const blockTag of ['latest', 'pending'] as const) {
    expect(await sentCount(blockTag)).toBe(sentBefore + works.length);
  }
}

async function shown(url: string): Promise<{ status: number; lead: string; metric: string }> {
  const ready = await fetch(`${url}/ready`);
  const { checks } = (await ready.json()) as {
    checks: { name: string; note?: string; reason?: string }[];
  };
  const lead = checks.find(({ name }) => name === 'lead');
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return {
    status: ready.status,
    lead: lead?.note ?? lead?.reason ?? '',
    metric: /^basket_relayer_leader (\d)$/m.exec(metrics)?.[1] ?? '',
  };
}

const leads = (url: string): Promise<true> =>
  until('it leads', async () => ((await shown(url)).lead === 'leads' ? true : null));

/** Of everything that was posted, at least so much has run. */
const executed = (all: readonly Agent[], least: number): Promise<true> =>
  until(`${least} executed`, async () => ((await runsOf(all)).length >= least ? true : null));

describe('two relayers on one database', () => {
  it('one leads and the other says that it stands by; both take actions', async () => {
    const first = await replica();
    const second = await replica();
    expect(await shown(first.url)).toEqual({ status: 200, lead: 'leads', metric: '1' });
    expect(await shown(second.url)).toEqual({ status: 200, lead: STANDBY, metric: '0' });
    const { all, works } = await manyActions(4);
    const replies = await Promise.all(
      works.map(({ body }, index) => (index % 2 === 0 ? first : second).post(body)),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await expectOnceEach(second, all, works);
  });

  it('the same action posted to both at once is one transaction and one answer', async () => {
    const both = [await replica(), await replica()];
    const { all, works } = await manyActions(4);
    for (const { body } of works) {
      const replies = await Promise.all(
        Array.from({ length: 6 }, (_, index) => (both[index % 2] as TestRelayer).post(body)),
      );
      expect(replies.map(({ status }) => status)).toEqual(Array(6).fill(200));
      expect(new Set(replies.map(({ body: answer }) => answer.hash)).size).toBe(1);
    }
    await expectOnceEach(both[1] as TestRelayer, all, works);
  });

  it.each(['the leader', 'the standby'])(
    'an answer of %s that was lost is given by the other: the same hash, never 402, though gas has gone up',
    async (taker) => {
      const both = [await replica(), await replica()];
      const [taking, other] = taker === 'the leader' ? both : both.toReversed();
      if (taking === undefined || other === undefined) throw new Error('two are started');
      const agent = await openAgent(fork, 'alice');
      const work = await workOf(agent);
      await fork.client.setAutomine(false);
      const lost = new AbortController();
      const first = fetch(`${taking.url}/relay/v1/account/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(work.body),
        signal: lost.signal,
      });
      const path = `/relay/v1/actions/${digestOf(work.action)}`;
      const { hash } = await until('broadcast', async () => {
        const { body } = await other.get(path);
        return body.status === 'pending' ? body : null;
      });
      lost.abort();
      await expect(first).rejects.toThrow(/abort/);
      expect(await other.post(work.body)).toMatchObject({ status: 202, body: { hash } });
      await fork.client.mine({ blocks: 1 });
      await fork.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 900_000_000n });
      await fork.client.mine({ blocks: 1 });
      expect(await finalAnswer(other, work)).toMatchObject({ status: 200, body: { hash } });
      await expectOnceEach(taking, [agent], [work]);
    },
  );

  it('other terms under one nonce: before broadcast the later one, afterwards 409 with the state of the first', async () => {
    const first = await replica();
    const second = await replica();
    const agent = await openAgent(fork, 'alice');
    const nonce = agent.nextNonce();
    const unpaid = await workOf(agent, { nonce, fee: 0n });
    expect((await first.post(unpaid.body)).status).toBe(402);
    const work = await workOf(agent, { nonce });
    await fork.client.setAutomine(false);
    const running = second.post(work.body);
    await until('broadcast', async () => {
      const { body } = await first.get(`/relay/v1/actions/${digestOf(work.action)}`);
      return body.status === 'pending' ? body : null;
    });
    for (const one of [first, second]) {
      expect(await one.post(unpaid.body)).toMatchObject({
        status: 409,
        body: { code: 'SLOT_TAKEN', status: 'pending', digest: digestOf(work.action) },
      });
    }
    await fork.client.mine({ blocks: 1 });
    expect((await running).status).toBe(200);
    await fork.client.setAutomine(true);
    const rivals = await Promise.all(
      [1n, 2n, 3n, 4n].map((more) =>
        workOf(agent, { nonce: nonce + 1_000n, limit: 20_600_000n + more }),
      ),
    );
    const replies = await Promise.all(
      rivals.map(({ body }, index) => (index % 2 === 0 ? first : second).post(body)),
    );
    expect(replies.map(({ status }) => status).filter((status) => status === 409)).toHaveLength(3);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await executions(fork, agent.account)).toHaveLength(2);
    expect(await sentCount('pending')).toBe(sentBefore + 2);
  });
});

describe('a leader that ends', () => {
  it(
    'by SIGTERM with twenty actions in flight: the standby leads at once and loses none',
    async () => {
      const { all, works } = await manyActions(20);
      const leader = await replicaProcess();
      const standby = await replica();
      await fork.client.setAutomine(false);
      const replies = works.map(({ body }, index) =>
        (index % 2 === 0 ? leader.client : standby).post(body).then(
          ({ status }) => status,
          () => 0,
        ),
      );
      await until('something broadcast', async () =>
        (await fork.client.getTxpoolStatus()).pending >= 10 ? true : null,
      );
      await leader.child.stop(20_000);
      expect(await leader.child.exited).toBe(0);
      await leads(standby.url);
      const statuses = await Promise.all(replies);
      for (const status of statuses) expect([0, 200, 202, 503, 504]).toContain(status);
      await fork.client.setAutomine(true);
      await fork.client.mine({ blocks: 1 });
      // Nobody asks again: what was accepted runs.
      await executed(all, statuses.filter((status) => [200, 202, 504].includes(status)).length);
      await expectOnceEach(standby, all, works);
    },
    PROCESSES,
  );

  it.each(['inserted', 'persisted', 'sent', 'broadcast_stored'])(
    'by SIGKILL at "%s" with actions in flight at both: each runs once',
    async (point) => {
      const { all, works } = await manyActions(12);
      const leader = await replicaProcess({ CRASH_AT: point, CRASH_NTH: '4' });
      const standby = await replica();
      const replies = works.map(({ body }, index) =>
        (index % 2 === 0 ? leader.client : standby).post(body).then(
          ({ status }) => status,
          () => 0,
        ),
      );
      // A signal's: no code.
      expect(await leader.child.exited).toBe(null);
      await leads(standby.url);
      const statuses = await Promise.all(replies);
      await executed(all, statuses.filter((status) => status === 200 || status === 202).length);
      await expectOnceEach(standby, all, works);
    },
    PROCESSES,
  );

  it(
    'by hanging: the standby sends meanwhile, and the old leader, awake again, sends nothing twice',
    async () => {
      const { all, works } = await manyActions(16);
      const leader = await replicaProcess();
      const standby = await replica();
      await fork.client.setAutomine(false);
      const post = (work: Work, index: number): Promise<number> =>
        (index % 2 === 0 ? leader.client : standby).post(work.body).then(
          ({ status }) => status,
          () => 0,
        );
      const early = works.slice(0, 8).map(post);
      await until('something broadcast', async () =>
        (await fork.client.getTxpoolStatus()).pending >= 3 ? true : null,
      );
      process.kill(leader.child.pid, 'SIGSTOP');
      const late = works
        .slice(8)
        .map(({ body }) => standby.post(body).then(({ status }) => status));
      await leads(standby.url);
      await fork.client.setAutomine(true);
      await fork.client.mine({ blocks: 1 });
      await executed(all, 12);
      process.kill(leader.child.pid, 'SIGCONT');
      await until('the old one stands by', async () =>
        (await shown(leader.url)).lead === STANDBY ? true : null,
      );
      await Promise.all([...early, ...late]);
      await expectOnceEach(leader.client, all, works);
    },
    PROCESSES,
  );

  it('by its lock breaking again and again: each action runs once, sent by one or the other', async () => {
    const { all, works } = await manyActions(12);
    const both = [await replica(), await replica()];
    const store = await openStore({
      url: database,
      migrations: { ...senderMigrations, ...relayMigrations },
    });
    closing.push(() => store.close());
    for (const [index, work] of works.entries()) {
      const posted = (both[index % 2] as TestRelayer).post(work.body);
      if (index % 3 === 0) {
        await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database())`.execute(
          store.db,
        );
      }
      await posted;
    }
    await expectOnceEach(both[0] as TestRelayer, all, works);
  });
});
