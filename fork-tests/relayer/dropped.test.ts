/** Transactions that went out and can no longer execute: the action is tried again, or its end is told. */
import type { Hex } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { type Action, actionDigest } from '../../contracts-abi/typed-data.ts';
import { intentKey } from '../../relayer/slots.ts';
import { useFork } from '../harness/fork.ts';
import { startProxy } from '../proxy/proxy.ts';
import { type Agent, buyAction, executions, openAgent, signedBody } from './agent.ts';
import {
  type DataFolder,
  dataFolder,
  inPool,
  startTestRelayer,
  type TestRelayer,
  until,
} from './relayer.ts';

const fork = useFork();
const FEE = 400_000n;
let data: DataFolder;
let agent: Agent;
let relayer: TestRelayer | null = null;

beforeEach(async () => {
  data = dataFolder();
  agent = await openAgent(fork, 'alice');
});
afterEach(async () => {
  await fork.client.setAutomine(true);
  await relayer?.stop();
  relayer = null;
  data.remove();
});

const start = async (env: Record<string, string> = {}): Promise<TestRelayer> => {
  relayer = await startTestRelayer(fork, data, {
    RELAY_WAIT_MS: '200',
    RELAY_FEE_STEP_USDG: '0.4',
    ...env,
  });
  return relayer;
};
const digestOf = (action: Action): Hex => actionDigest(action, fork.deployment.sessionModule);

/** An action that is with the node and not mined: nothing is, from here on. */
async function inFlight(target: TestRelayer): Promise<{ action: Action; body: unknown }> {
  const action = await buyAction(fork, agent, 50n * USD, { fee: FEE });
  const body = await signedBody(fork, agent, action);
  await fork.client.setAutomine(false);
  const pending = await target.post(body);
  expect(pending).toMatchObject({ status: 202, body: { status: 'pending' } });
  await inPool(fork, pending.body.hash);
  return { action, body };
}

/** The operator takes the nonce of the transaction in flight, by hand and with the same key. */
async function takeNonceByHand(): Promise<void> {
  const { address } = fork.accounts.relayer.account;
  await fork.userClient('relayer').sendTransaction({
    to: address,
    value: 1n,
    nonce: await fork.client.getTransactionCount({ address }),
    gas: 21_000n,
    chain: null,
    maxFeePerGas: 20_000_000_000n,
    maxPriorityFeePerGas: 10_000_000_000n,
  });
  // Deep enough for the sender to believe that the nonce went to somebody else.
  await fork.client.mine({ blocks: 30 });
}

/** The cancel is an empty transfer to oneself in place of the execution. */
async function cancelInPool(): Promise<void> {
  await until('a cancel in the pool', async () => {
    const { pending } = await fork.client.getTxpoolContent();
    const mine = Object.values(pending).flatMap((byNonce) => Object.values(byNonce));
    return mine.some(({ input }) => input === '0x') ? true : null;
  });
}

describe('an action in flight whose nonce the operator takes by hand', () => {
  it('still runs once', async () => {
    const target = await start();
    const { action, body } = await inFlight(target);
    await takeNonceByHand();
    await fork.client.setAutomine(true);
    await until('mined', async () => ((await target.post(body)).status === 200 ? true : null));
    const runs = await executions(fork, agent.account);
    expect(runs.map(({ args }) => args.digest)).toEqual([digestOf(action)]);
  });

  it('past its deadline is told as expired, and its slot is never quoted again', async () => {
    const target = await start();
    const { action, body } = await inFlight(target);
    await fork.client.increaseTime({ seconds: 400 });
    await takeNonceByHand();
    await fork.client.setAutomine(true);
    const reply = await until('an end', async () => {
      const answer = await target.post(body);
      return answer.status === 202 || answer.status === 504 ? null : answer;
    });
    expect(reply).toMatchObject({ status: 410, body: { code: 'EXPIRED', next: 'rebuild' } });
    expect((await target.post(body)).body).toMatchObject({ code: 'EXPIRED' });
    const other = await buyAction(fork, agent, 50n * USD, { nonce: action.nonce, fee: 0n });
    const taken = await target.post(await signedBody(fork, agent, other));
    expect(taken).toMatchObject({ status: 409, body: { code: 'SLOT_TAKEN' } });
    expect(await executions(fork, agent.account)).toEqual([]);
  });
});

describe('an action whose transaction was cancelled at the fee cap', () => {
  it('is sent again under its own slot, without anybody asking, and runs once', async () => {
    const target = await start({ SENDER_STUCK_AFTER_MS: '500', SENDER_MAX_FEE_GWEI: '0.05' });
    const { action, body } = await inFlight(target);
    const first = intentKey(digestOf(action), 0);
    const second = intentKey(digestOf(action), 1);
    await cancelInPool();
    await fork.client.mine({ blocks: 1 });
    await until('the first attempt cancelled', async () =>
      (await target.sender.get(first))?.state.tag === 'cancelled' ? true : null,
    );
    await until('a second attempt', async () =>
      (await target.sender.get(second)) === null ? null : true,
    );
    await fork.client.setAutomine(true);
    await fork.client.mine({ blocks: 1 });
    await until('mined', async () => ((await target.post(body)).status === 200 ? true : null));
    const runs = await executions(fork, agent.account);
    expect(runs.map(({ args }) => args.digest)).toEqual([digestOf(action)]);
  });

  it('is gone on with by itself when the chain was out of reach at the moment of the second try', async () => {
    const proxy = await startProxy(fork.url);
    try {
      const target = await start({
        RPC_URLS: proxy.url,
        SENDER_STUCK_AFTER_MS: '500',
        SENDER_MAX_FEE_GWEI: '0.05',
      });
      const { action } = await inFlight(target);
      await cancelInPool();
      const fault = {
        fault: 'error',
        code: -32_603,
        message: 'internal error',
        forwarded: false,
      } as const;
      const outages = ['eth_simulateV1', 'eth_estimateGas'].map((method) =>
        proxy.on(method, {}, fault),
      );
      await fork.client.mine({ blocks: 1 });
      await until('the second try failed', async () =>
        outages.every(({ hits }) => hits > 0) ? true : null,
      );
      for (const outage of outages) outage.remove();
      await fork.client.setAutomine(true);
      // Nobody posts again.
      await until('it has run', async () =>
        (await executions(fork, agent.account)).length === 1 ? true : null,
      );
      await until('it is told as mined', async () => {
        const told = await target.get(`/relay/v1/actions/${digestOf(action)}`);
        return told.body.status === 'mined' ? true : null;
      });
    } finally {
      await proxy.stop();
    }
  }, 90_000);
});
