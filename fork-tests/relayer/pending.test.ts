/** Several actions of one account before any of them is mined: each is judged behind the others. */
import type { Hex } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { type Action, actionDigest } from '../../contracts-abi/typed-data.ts';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import {
  type Agent,
  buyAction,
  executions,
  openAgent,
  sellAction,
  sharesOf,
  signedBody,
} from './agent.ts';
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
let proxy: Proxy;
let data: DataFolder;
let agent: Agent;
let relayer: TestRelayer;

beforeEach(async () => {
  proxy = await startProxy(fork.url);
  data = dataFolder();
  agent = await openAgent(fork, 'alice');
  relayer = await startTestRelayer(fork, data, {
    RPC_URLS: proxy.url,
    RELAY_WAIT_MS: '200',
    // One fee fits all: quotes are not the matter here.
    RELAY_FEE_STEP_USDG: '0.4',
  });
});
afterEach(async () => {
  await fork.client.setAutomine(true);
  await relayer?.stop();
  await proxy.stop();
  data.remove();
});

const digestOf = (action: Action): Hex => actionDigest(action, fork.deployment.sessionModule);
const post = async (action: Action): Promise<Reply> =>
  await relayer.post(await signedBody(fork, agent, action));

/** The account holds shares worth some dollars, and from here on nothing is mined. */
async function holding(dollars: bigint): Promise<bigint> {
  const bought = await post(await buyAction(fork, agent, dollars * USD, { fee: FEE }));
  expect([200, 202]).toContain(bought.status);
  const shares = await until('shares', async () => (await sharesOf(fork, agent.account)) || null);
  await until('the purchase told as mined', async () => {
    const told = await relayer.get(`/relay/v1/actions/${String(bought.body.digest)}`);
    return told.body.status === 'mined' ? true : null;
  });
  await fork.client.setAutomine(false);
  return shares;
}

async function poolSize(): Promise<number> {
  const { pending, queued } = await fork.client.getTxpoolStatus();
  return pending + queued;
}

const overSold = (first: Action) => ({
  status: 422,
  body: {
    ok: false,
    code: 'INSUFFICIENT_SHARES',
    check: 'pending',
    next: 'wait',
    retryable: false,
    pending: [digestOf(first)],
  },
});

describe('a second sale of the same shares', () => {
  it('is refused with the reason before anything is sent, and with the truth once the first is mined', async () => {
    const shares = await holding(50n);
    const first = await sellAction(fork, agent, shares, { fee: FEE });
    const sold = await post(first);
    expect(sold).toMatchObject({ status: 202, body: { status: 'pending' } });
    await inPool(fork, sold.body.hash);

    const second = await sellAction(fork, agent, shares, { fee: FEE });
    expect(await post(second)).toMatchObject(overSold(first));
    expect(await poolSize()).toBe(1);
    // Not even a fee is asked for what cannot run.
    const unpaid = await sellAction(fork, agent, shares);
    expect(await post(unpaid)).toMatchObject(overSold(first));

    await fork.client.mine({ blocks: 1 });
    await until('mined', async () => ((await post(first)).status === 200 ? true : null));
    expect(await post(second)).toMatchObject({
      status: 422,
      body: { code: 'INSUFFICIENT_SHARES', check: 'balance', next: 'rebuild' },
    });
    expect(await executions(fork, agent.account)).toHaveLength(2);
  });

  it('posted at the same moment: one goes, the other is told', async () => {
    const shares = await holding(50n);
    const sales = await Promise.all(
      [1, 2, 3].map(() => sellAction(fork, agent, shares, { fee: FEE })),
    );
    const replies = await Promise.all(sales.map(post));
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([202, 422, 422]);
    await until('one in the pool', async () => ((await poolSize()) === 1 ? true : null));
    await fork.client.mine({ blocks: 1 });
    expect(await sharesOf(fork, agent.account)).toBe(0n);
  });

  it('goes when the first did not run after all', async () => {
    const shares = await holding(50n);
    const first = await sellAction(fork, agent, shares, { fee: FEE });
    expect((await post(first)).status).toBe(202);
    await inPool(fork, (await post(first)).body.hash);
    // The clock passes the deadline of the first before the block that holds it.
    await fork.client.increaseTime({ seconds: 400 });
    await fork.client.mine({ blocks: 1 });
    await until('reverted', async () => ((await post(first)).status === 422 ? true : null));
    await fork.client.setAutomine(true);
    const second = await sellAction(fork, agent, shares, { fee: FEE });
    await until('sold', async () => {
      const { status } = await post(second);
      return status === 200 ? true : null;
    });
  });
});

describe('actions that fit behind each other', () => {
  it('all go before the first is mined, and all run', async () => {
    const shares = await holding(60n);
    const sales: Action[] = [];
    for (const part of [3n, 3n, 3n]) {
      const sale = await sellAction(fork, agent, shares / part, { fee: FEE });
      expect((await post(sale)).status).toBe(202);
      sales.push(sale);
    }
    const more = await sellAction(fork, agent, shares / 3n, { fee: FEE });
    expect((await post(more)).body).toMatchObject({
      code: 'INSUFFICIENT_SHARES',
      pending: sales.map(digestOf),
    });
    await until('all in the pool', async () => ((await poolSize()) === 3 ? true : null));
    await fork.client.mine({ blocks: 1 });
    const runs = await executions(fork, agent.account);
    expect(runs.slice(1).map(({ args }) => args.digest)).toEqual(sales.map(digestOf));
  });

  it('count against the limit of the day together', async () => {
    await fork.client.setAutomine(false);
    // The grant allows $500 a day.
    expect((await post(await buyAction(fork, agent, 300n * USD, { fee: FEE }))).status).toBe(202);
    expect(await post(await buyAction(fork, agent, 300n * USD, { fee: FEE }))).toMatchObject({
      status: 403,
      body: { code: 'SESSION_LIMIT', check: 'pending', next: 'wait' },
    });
    expect((await post(await buyAction(fork, agent, 100n * USD, { fee: FEE }))).status).toBe(202);
  });
});

describe('a node that cannot simulate blocks', () => {
  it('lets one action of an account go at a time: the next is told to wait', async () => {
    const shares = await holding(50n);
    proxy.on(
      'eth_simulateV1',
      {},
      { fault: 'error', code: -32_601, message: 'method not found', forwarded: false },
    );
    const first = await sellAction(fork, agent, shares / 2n, { fee: FEE });
    expect((await post(first)).status).toBe(202);
    const second = await sellAction(fork, agent, shares / 2n, { fee: FEE });
    const refused = await post(second);
    expect(refused).toMatchObject({
      status: 503,
      body: { code: 'PAUSED', check: 'pending', next: 'wait', pending: [digestOf(first)] },
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await fork.client.mine({ blocks: 1 });
    await fork.client.setAutomine(true);
    await until('the second goes', async () => ((await post(second)).status === 200 ? true : null));
  });
});
