/** What a client that lost the answer learns: the signed receipt, the state of an action and of a nonce, and waits. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { type Action, actionDigest } from '../../contracts-abi/typed-data.ts';
import { verifyReceipt } from '../../relayer/receipt.ts';
import { useFork } from '../harness/fork.ts';
import { type Agent, buyAction, openAgent, signedBody } from './agent.ts';
import {
  type DataFolder,
  dataFolder,
  inPool,
  type Reply,
  startTestRelayer,
  type TestRelayer,
  until,
} from './relayer.ts';

const fork = useFork();
const FEE = 400_000n;
let data: DataFolder;
let agent: Agent;
let relayer: TestRelayer;

beforeEach(async () => {
  data = dataFolder();
  agent = await openAgent(fork, 'alice');
  relayer = await startTestRelayer(fork, data, {
    RELAY_WAIT_MS: '100',
    RELAY_FEE_STEP_USDG: '0.4',
  });
});
afterEach(async () => {
  await fork.client.setAutomine(true);
  await relayer?.stop();
  data.remove();
});

const digestOf = (action: Action) => actionDigest(action, fork.deployment.sessionModule);
const post = async (action: Action): Promise<Reply> =>
  await relayer.post(await signedBody(fork, agent, action));
const nonceStatus = async (nonce: bigint, query = ''): Promise<Reply> =>
  await relayer.get(`/relay/v1/account/${agent.account}/nonce/${nonce}${query}`);
const actionStatus = async (action: Action, query = ''): Promise<Reply> =>
  await relayer.get(`/relay/v1/actions/${digestOf(action)}${query}`);

/** An action that is with the node and not mined. */
async function inFlight(): Promise<{ action: Action; reply: Reply }> {
  await fork.client.setAutomine(false);
  const action = await buyAction(fork, agent, 20n * USD, { fee: FEE });
  const reply = await post(action);
  expect(reply.status).toBe(202);
  await inPool(fork, reply.body.hash);
  return { action, reply };
}

describe('a receipt', () => {
  it('comes with 202, with 200 and from the status routes: the same, and of the first wallet', async () => {
    const { action, reply } = await inFlight();
    const expected = { digest: digestOf(action), signer: fork.accounts.relayer.account.address };
    const verdict = await verifyReceipt(reply.body.receipt, expected);
    expect(verdict).toMatchObject({
      ok: true,
      receipt: {
        slot: {
          module: fork.deployment.sessionModule,
          account: agent.account,
          nonce: action.nonce.toString(),
        },
      },
    });
    expect((await actionStatus(action)).body.receipt).toEqual(reply.body.receipt);
    expect((await nonceStatus(action.nonce)).body.receipt).toEqual(reply.body.receipt);
    await fork.client.mine({ blocks: 1 });
    const mined = await until('mined', async () => {
      const answer = await post(action);
      return answer.status === 200 ? answer : null;
    });
    expect(mined.body.receipt).toEqual(reply.body.receipt);
  });

  it('is not given for what was only quoted', async () => {
    const action = await buyAction(fork, agent, 20n * USD);
    expect((await post(action)).body.receipt).toBeUndefined();
    expect((await actionStatus(action)).body).toEqual({
      ok: true,
      digest: digestOf(action),
      status: 'unsent',
      hash: null,
    });
  });
});

describe('a wait', () => {
  it('ends when the action is mined, long before its time', async () => {
    const { action, reply } = await inFlight();
    const asked = Date.now();
    const waits = [
      actionStatus(action, '?waitMs=15000'),
      nonceStatus(action.nonce, '?waitMs=15000'),
    ];
    // Both are held back: a question asked later is answered before.
    expect((await actionStatus(action)).body.status).toBe('pending');
    await fork.client.mine({ blocks: 1 });
    const [told, nonce] = await Promise.all(waits);
    expect(told?.body).toMatchObject({ status: 'mined', hash: reply.body.hash });
    expect(nonce?.body.hash).toBe(reply.body.hash);
    expect(Date.now() - asked).toBeLessThan(15_000);
    expect((await nonceStatus(action.nonce, '?waitMs=15000')).body).toMatchObject({
      used: true,
      status: 'used',
      hash: reply.body.hash,
    });
  });

  it('without a change is answered with what holds, and is bounded', async () => {
    const { action } = await inFlight();
    expect((await actionStatus(action, '?waitMs=600')).body.status).toBe('pending');
    for (const query of ['?waitMs=15001', '?waitMs=-1', '?waitMs=1e3', '?wait=1']) {
      expect((await actionStatus(action, query)).status).toBe(400);
      expect((await nonceStatus(action.nonce, query)).status).toBe(400);
    }
  });

  it('ends when the relayer stops', async () => {
    const { action } = await inFlight();
    const waiting = actionStatus(action, '?waitMs=15000');
    expect((await actionStatus(action)).body.status).toBe('pending');
    await relayer.stop();
    expect((await waiting).body.status).toBe('pending');
    relayer = await startTestRelayer(fork, data);
  });
});

describe('a nonce', () => {
  it('is free, then pending, then used, each with what is known', async () => {
    const unknown = await nonceStatus(agent.nextNonce());
    expect(unknown.body).toMatchObject({ used: false, status: 'free', hash: null, action: null });
    const { action, reply } = await inFlight();
    expect((await nonceStatus(action.nonce)).body).toMatchObject({
      used: false,
      status: 'pending',
      hash: reply.body.hash,
      action: { digest: digestOf(action), status: 'pending' },
    });
    await fork.client.mine({ blocks: 1 });
    expect((await nonceStatus(action.nonce)).body).toMatchObject({
      used: true,
      status: 'used',
      hash: reply.body.hash,
    });
  });

  it('is expired once the chain is past the deadline and it is unused', async () => {
    const quoted = await buyAction(fork, agent, 20n * USD);
    await post(quoted);
    expect((await nonceStatus(quoted.nonce)).body.status).toBe('free');
    const { action } = await inFlight();
    await fork.client.increaseTime({ seconds: 400 });
    await fork.client.mine({ blocks: 1 });
    expect((await nonceStatus(action.nonce)).body).toMatchObject({
      used: false,
      status: 'expired',
    });
    expect((await nonceStatus(quoted.nonce)).body.status).toBe('expired');
  });

  it('belongs to a module: the cover module has its own, and there is no third', async () => {
    const nonce = agent.nextNonce();
    const of = async (module: string) => await nonceStatus(nonce, `?module=${module}`);
    expect((await of(fork.deployment.coverModule)).body).toMatchObject({
      module: fork.deployment.coverModule,
      status: 'free',
    });
    expect((await of(fork.deployment.usdg)).status).toBe(400);
  });
});
