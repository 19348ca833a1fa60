/** The chain's endpoint fails, the process ends, work is in flight: what was accepted runs once, and is told. */
import type { Hex } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { type Action, actionDigest } from '../../contracts-abi/typed-data.ts';
import { type RelayTables, relayMigrations } from '../../relayer/migrations.ts';
import { createSlotStore } from '../../relayer/slot-store.ts';
import { type SenderTables, senderMigrations } from '../../runtime/sender/tables.ts';
import { openStore } from '../../runtime/store/store.ts';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import type { Child } from '../start/children.ts';
import { startRelayerChild } from './child.ts';
import { type Agent, buyAction, executions, openAgent, signedBody } from './agent.ts';
import {
  clientOf,
  type DataFolder,
  dataFolder,
  inPool,
  relayerEnv,
  startTestRelayer,
  type TestRelayer,
  until,
} from './relayer.ts';

const fork = useFork();
const FEE = 400_000n;
let proxy: Proxy;
let data: DataFolder;
let agent: Agent;
let relayer: TestRelayer | null = null;

beforeEach(async () => {
  proxy = await startProxy(fork.url);
  data = dataFolder();
  agent = await openAgent(fork, 'alice');
});
afterEach(async () => {
  await fork.client.setAutomine(true);
  await relayer?.stop();
  relayer = null;
  await proxy.stop();
  data.remove();
});

const start = async (env: Record<string, string> = {}): Promise<TestRelayer> => {
  relayer = await startTestRelayer(fork, data, {
    RPC_URLS: proxy.url,
    RPC_TIMEOUT_MS: '1000',
    RELAY_WAIT_MS: '3000',
    // Quotes of the fork's moods are not the matter here: a step of 40 cents makes one fee fit all.
    RELAY_FEE_STEP_USDG: '0.4',
    ...env,
  });
  return relayer;
};
const digestOf = (action: Action): Hex => actionDigest(action, fork.deployment.sessionModule);

async function paidBody(from: Agent = agent) {
  const action = await buyAction(fork, from, 50n * USD, { fee: FEE });
  return { action, body: await signedBody(fork, from, action) };
}

describe('an endpoint that fails', () => {
  it('after it took the transaction: the answer is the mined one, and there is one', async () => {
    const target = await start();
    for (const fault of [
      { fault: 'error', code: -32_000, message: 'internal error', forwarded: true },
      { fault: 'drop', forwarded: true },
    ] as const) {
      const rule = proxy.on('eth_sendRawTransaction', { times: 1 }, fault);
      const { action, body } = await paidBody();
      const reply = await target.post(body);
      expect(reply).toMatchObject({ status: 200, body: { ok: true } });
      expect(rule.hits).toBe(1);
      const runs = (await executions(fork, agent.account)).filter(
        ({ args }) => args.digest === digestOf(action),
      );
      expect(runs.map(({ transactionHash }) => transactionHash)).toEqual([reply.body.hash]);
    }
  });

  it('before anything was sent: 502, nothing sent, and the same body runs once it is back', async () => {
    const target = await start();
    const { body } = await paidBody();
    await proxy.pause();
    const reply = await target.post(body);
    expect(reply).toMatchObject({
      status: 502,
      body: { ok: false, code: 'UPSTREAM', retryable: true, next: 'reconcile' },
    });
    await proxy.resume();
    expect((await target.post(body)).status).toBe(200);
    expect(await executions(fork, agent.account)).toHaveLength(1);
  });

  it('in the simulation, with an error that is no revert: 502 and never a refusal of the action', async () => {
    const target = await start();
    const { body } = await paidBody();
    const limited = { fault: 'error', code: -32_005, message: 'limit', forwarded: false } as const;
    for (const method of ['eth_simulateV1', 'eth_estimateGas']) proxy.on(method, {}, limited);
    expect((await target.post(body)).body).toMatchObject({ code: 'UPSTREAM' });
    proxy.clear();
    expect((await target.post(body)).status).toBe(200);
  });

  it('leaves the revert data out of an estimate: the reason is found by a call', async () => {
    const target = await start();
    const action = await buyAction(fork, agent, 50n * USD, { fee: FEE, limit: 40n * USD });
    const bare = {
      fault: 'error',
      code: 3,
      message: 'execution reverted',
      forwarded: false,
    } as const;
    proxy.on('eth_estimateGas', {}, bare);
    const { body, status } = await target.post(await signedBody(fork, agent, action));
    expect(status).toBe(422);
    expect(body).toMatchObject({
      code: 'SIMULATION_FAILED',
      revert: 'STF',
    });
  });

  it('while the transaction waits: uncertain or pending, then the truth', async () => {
    const target = await start();
    const { action, body } = await paidBody();
    await fork.client.setAutomine(false);
    const running = target.post(body);
    const hash = await until('broadcast', async () => {
      const { body: status } = await target.get(`/relay/v1/actions/${digestOf(action)}`);
      return status.status === 'pending' ? status.hash : null;
    });
    await inPool(fork, hash);
    await proxy.pause();
    const reply = await running;
    expect(reply).toMatchObject({ status: 202, body: { status: 'pending' } });
    expect((await target.post(body)).body).toEqual(reply.body);
    await fork.client.mine({ blocks: 1 });
    await proxy.resume();
    await until('mined', async () => ((await target.post(body)).status === 200 ? true : null));
    expect(await executions(fork, agent.account)).toHaveLength(1);
  });
});

describe('an end of the process', () => {
  const children: Child[] = [];
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.stop(5_000)));
  });

  /** The process as an operator runs it; resolves when it listens. */
  async function launch(env: Record<string, string> = {}) {
    const started = await startRelayerChild(
      data.path,
      relayerEnv(fork, data, { RELAY_FEE_STEP_USDG: '0.4', ...env }),
    );
    children.push(started.child);
    return { child: started.child, client: clientOf(started.url) };
  }

  it('by SIGTERM with twenty actions in flight loses none, and the next process runs each once', async () => {
    const agents: Agent[] = [agent];
    for (const owner of ['bob', 'carol', 'dave'] as const)
      agents.push(await openAgent(fork, owner));
    const works = [];
    for (let index = 0; index < 20; index += 1) {
      const from = agents[index % agents.length] as Agent;
      const action = await buyAction(fork, from, 20n * USD, { fee: FEE });
      works.push({ action, body: await signedBody(fork, from, action) });
    }
    const { child, client } = await launch();
    await fork.client.setAutomine(false);
    const replies = works.map(({ body }) =>
      client.post(body).then(
        ({ status }) => status,
        () => 0, // its connection was idle still when the process stopped listening
      ),
    );
    await until('something broadcast', async () => {
      const { pending } = await fork.client.getTxpoolStatus();
      return pending >= 10 ? true : null;
    });
    const stopping = Date.now();
    await child.stop(20_000);
    expect(await child.exited).toBe(0);
    expect(Date.now() - stopping).toBeLessThan(20_000);
    const statuses = await Promise.all(replies);
    for (const status of statuses) expect([0, 202, 503, 504]).toContain(status);

    await fork.client.setAutomine(true);
    await fork.client.mine({ blocks: 1 });
    const second = await launch();
    // What was answered as accepted runs without anybody asking again.
    const accepted = works.filter((_, index) => statuses[index] === 202 || statuses[index] === 504);
    expect(accepted.length).toBeGreaterThan(0);
    await until('all accepted actions have run', async () => {
      const runs = (
        await Promise.all(agents.map(({ account }) => executions(fork, account)))
      ).flat();
      const digests = new Set(runs.map(({ args }) => args.digest));
      return accepted.every(({ action }) => digests.has(digestOf(action))) ? true : null;
    });
    for (const { body } of works) {
      const reply = await until('an answer', async () => {
        const answer = await second.client.post(body);
        return answer.status === 200 ? answer : null;
      });
      expect(reply.body.ok).toBe(true);
    }
    const runs = (await Promise.all(agents.map(({ account }) => executions(fork, account)))).flat();
    expect(runs).toHaveLength(20);
    expect(new Set(runs.map(({ args }) => args.digest)).size).toBe(20);
  }, 180_000);

  it('between the claim of a slot and the sender: the next process goes on by itself', async () => {
    const { action, body } = await paidBody();
    const url = relayerEnv(fork, data).DATABASE_URL as string;
    const store = await openStore<RelayTables & SenderTables>({
      url,
      migrations: { ...senderMigrations, ...relayMigrations },
    });
    const slots = createSlotStore(store.db);
    const version = {
      id: {
        module: fork.deployment.sessionModule,
        account: action.account,
        nonce: action.nonce,
      },
      digest: digestOf(action),
      action,
      signature: body.signature,
    };
    await slots.open(version);
    await slots.claim(version, FEE, 0);
    await store.close();

    const target = await start();
    await until('the action has run', async () =>
      (await executions(fork, agent.account)).length === 1 ? true : null,
    );
    expect((await target.post(body)).status).toBe(200);
    expect(await executions(fork, agent.account)).toHaveLength(1);
  });
});
