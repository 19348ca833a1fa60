/** One action, one transaction, one answer: repeats, races, other terms, used nonces, lost responses, restarts. */
import { setTimeout as delay } from 'node:timers/promises';
import { encodeAbiParameters, type Hex } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SHARE, USD } from '../../contracts-abi/constants.ts';
import { sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { type Action, actionDigest } from '../../contracts-abi/typed-data.ts';
import { useFork } from '../harness/fork.ts';
import { buySwaps } from '../harness/trade.ts';
import {
  type Agent,
  buyAction,
  executions,
  mine,
  openAgent,
  SWAPS,
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
let data: DataFolder;
let relayer: TestRelayer;
let agent: Agent;
/** A fee inside the band on a quiet fork, also a block later: the base fee falls, and a quote of 4 steps becomes one of 3. */
let fee: bigint;

beforeEach(async () => {
  data = dataFolder();
  agent = await openAgent(fork, 'alice');
  relayer = await startTestRelayer(fork, data, { RELAY_WAIT_MS: '4000' });
  const probe = await relayer.post(
    await signedBody(fork, agent, await buyAction(fork, agent, 50n * USD)),
  );
  fee = (BigInt(String(probe.body.requiredFee)) * 11n) / 10n;
});
afterEach(async () => {
  await fork.client.setAutomine(true);
  await relayer?.stop();
  data.remove();
});

const digestOf = (action: Action): Hex => actionDigest(action, fork.deployment.sessionModule);

/** The action's status once it is `wanted`; a pending one is with the node then. */
async function statusIs(digest: Hex, wanted: 'pending' | 'mined') {
  const found = await until(`${digest} ${wanted}`, async () => {
    const { body } = await relayer.get(`/relay/v1/actions/${digest}`);
    return body.status === wanted ? body : null;
  });
  if (wanted === 'pending') await inPool(fork, found.hash);
  return found;
}

describe('the same action', () => {
  it('posted ten times at once is one transaction and ten equal answers', async () => {
    const action = await buyAction(fork, agent, 50n * USD, { fee });
    const body = await signedBody(fork, agent, action);
    const replies = await Promise.all(Array.from({ length: 10 }, () => relayer.post(body)));
    expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(new Set(replies.map(({ body: answer }) => JSON.stringify(answer))).size).toBe(1);
    expect(await executions(fork, agent.account)).toHaveLength(1);
    expect(await sharesOf(fork, agent.account)).toBe(action.amount);
  });

  it('posted more often than its key may while it is on its way is never told that nothing was sent', async () => {
    await relayer.stop();
    relayer = await startTestRelayer(fork, data, { RELAY_KEY_REQUESTS_PER_MINUTE: '1' });
    const body = await signedBody(fork, agent, await buyAction(fork, agent, 50n * USD, { fee }));
    const replies = await Promise.all(Array.from({ length: 10 }, () => relayer.post(body)));
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(await executions(fork, agent.account)).toHaveLength(1);
  });

  it('whose response was lost is answered with the same hash, never 402, though gas has gone up', async () => {
    const action = await buyAction(fork, agent, 50n * USD, { fee });
    const body = await signedBody(fork, agent, action);
    await fork.client.setAutomine(false);
    const lost = new AbortController();
    const first = fetch(`${relayer.url}/relay/v1/account/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: lost.signal,
    });
    const pending = await statusIs(digestOf(action), 'pending');
    lost.abort();
    await expect(first).rejects.toThrow(/abort/);
    const again = await relayer.post(body);
    expect(again).toMatchObject({
      status: 202,
      body: { ok: true, status: 'pending', hash: pending.hash, digest: digestOf(action) },
    });
    await fork.client.mine({ blocks: 1 });
    await statusIs(digestOf(action), 'mined');
    await fork.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 900_000_000n });
    await fork.client.mine({ blocks: 1 });
    expect(await relayer.post(body)).toMatchObject({ status: 200, body: { hash: pending.hash } });
    expect(await executions(fork, agent.account)).toHaveLength(1);
  });

  it('is answered the same after a restart, long past its deadline and its grant', async () => {
    const body = await signedBody(fork, agent, await buyAction(fork, agent, 50n * USD, { fee }));
    const before = await relayer.post(body);
    expect(before.status).toBe(200);
    await relayer.stop();
    await fork.warp(30 * 86_400);
    relayer = await startTestRelayer(fork, data);
    const after = await relayer.post(body);
    expect(after).toMatchObject({ status: 200, body: before.body });
    expect(await executions(fork, agent.account)).toHaveLength(1);
  });

  it('with another signature of the same key is the same action; with a bad one it is refused', async () => {
    const action = await buyAction(fork, agent, 50n * USD, { fee });
    const body = await signedBody(fork, agent, action);
    const first = await relayer.post(body);
    const forged = { ...body, signature: `0x${'11'.repeat(64)}1b` };
    expect((await relayer.post(forged)).status).toBe(401);
    expect((await relayer.post(body)).body).toEqual(first.body);
  });
});

describe('another action with the same nonce', () => {
  it('takes its place before broadcast', async () => {
    const nonce = agent.nextNonce();
    const first = await buyAction(fork, agent, 50n * USD, { nonce });
    expect((await relayer.post(await signedBody(fork, agent, first))).status).toBe(402);
    const second = await buyAction(fork, agent, 60n * USD, { nonce, fee });
    expect((await relayer.post(await signedBody(fork, agent, second))).status).toBe(200);
    const replaced = await relayer.post(await signedBody(fork, agent, first));
    expect(replaced).toMatchObject({ status: 409, body: { code: 'SLOT_TAKEN', status: 'mined' } });
  });

  it('is answered 409 with the state of the first once that is broadcast', async () => {
    const nonce = agent.nextNonce();
    const first = await buyAction(fork, agent, 50n * USD, { nonce, fee });
    const other = await buyAction(fork, agent, 60n * USD, { nonce, fee: 0n });
    await fork.client.setAutomine(false);
    const running = relayer.post(await signedBody(fork, agent, first));
    const { hash } = await statusIs(digestOf(first), 'pending');
    const refused = await relayer.post(await signedBody(fork, agent, other));
    expect(refused).toMatchObject({
      status: 409,
      body: {
        ok: false,
        code: 'SLOT_TAKEN',
        next: 'wait',
        retryable: false,
        digest: digestOf(first),
        status: 'pending',
        hash,
      },
    });
    await fork.client.mine({ blocks: 1 });
    expect((await running).status).toBe(200);
    expect((await relayer.post(await signedBody(fork, agent, other))).body).toMatchObject({
      code: 'SLOT_TAKEN',
      status: 'mined',
    });
    expect(await executions(fork, agent.account)).toHaveLength(1);
  });

  it('posted at the same time: one of the two runs, the other is refused', async () => {
    const nonce = agent.nextNonce();
    const bodies = await Promise.all(
      [50n, 60n, 70n, 80n].map(async (dollars) =>
        signedBody(fork, agent, await buyAction(fork, agent, dollars * USD, { nonce, fee })),
      ),
    );
    const replies = await Promise.all(bodies.map((body) => relayer.post(body)));
    const by = (status: number) => replies.filter((reply) => reply.status === status);
    expect(by(200)).toHaveLength(1);
    expect(by(409)).toHaveLength(3);
    expect(await executions(fork, agent.account)).toHaveLength(1);
  });
});

describe('a nonce that somebody else used', () => {
  /** Another relayer, or anybody: execution is open to all. */
  async function executeFrom(action: Action, maxFeePerGas = 2_000_000_000n): Promise<Hex> {
    const { signature } = await signedBody(fork, agent, action);
    return await fork.userClient('dave').writeContract({
      address: fork.deployment.sessionModule,
      abi: sessionModuleAbi,
      functionName: 'execute',
      args: [action, signature],
      gas: 3_000_000n,
      chain: null,
      maxFeePerGas,
      maxPriorityFeePerGas: maxFeePerGas / 2n,
    });
  }

  it('is answered 409 with the transaction, and whether it was this very action', async () => {
    const nonce = agent.nextNonce();
    const executed = await buyAction(fork, agent, 50n * USD, { nonce });
    const hash = await executeFrom(executed);
    await mine(fork, hash);
    const same = await relayer.post(await signedBody(fork, agent, executed));
    expect(same).toMatchObject({
      status: 409,
      body: {
        code: 'NONCE_USED',
        next: 'reconcile',
        hash,
        executedDigest: digestOf(executed),
        executed: true,
      },
    });
    const other = await buyAction(fork, agent, 60n * USD, { nonce, fee });
    const reply = await relayer.post(await signedBody(fork, agent, other));
    expect(reply.body).toMatchObject({ code: 'NONCE_USED', hash, executed: false });
    const status = await relayer.get(`/relay/v1/account/${agent.account}/nonce/${nonce}`);
    expect(status.body).toMatchObject({ ok: true, used: true, nonce: nonce.toString() });
  });

  it('counts before an expired deadline', async () => {
    const executed = await buyAction(fork, agent, 50n * USD);
    await mine(fork, await executeFrom(executed));
    await fork.warp(1_000);
    expect(await relayer.post(await signedBody(fork, agent, executed))).toMatchObject({
      status: 409,
      body: { code: 'NONCE_USED' },
    });
  });

  it('between our simulation and our inclusion: our revert is told as what it was', async () => {
    const action = await buyAction(fork, agent, 50n * USD, { fee });
    const body = await signedBody(fork, agent, action);
    await fork.client.setAutomine(false);
    const running = relayer.post(body);
    await statusIs(digestOf(action), 'pending');
    const rival = await executeFrom(action);
    await fork.client.mine({ blocks: 1 });
    const expected = { status: 409, body: { code: 'NONCE_USED', hash: rival, executed: true } };
    expect(await running).toMatchObject(expected);
    expect(await relayer.post(body)).toMatchObject(expected);
    expect(await executions(fork, agent.account)).toHaveLength(1);
  });
});

describe('an action that reverts when it is mined', () => {
  it('is told as not run, with its hash, and remembered', async () => {
    const action = await buyAction(fork, agent, 50n * USD, { fee });
    const body = await signedBody(fork, agent, action);
    await fork.client.setAutomine(false);
    const running = relayer.post(body);
    const { hash } = await statusIs(digestOf(action), 'pending');
    // The chain's clock passes the deadline before the block that holds it.
    await fork.client.increaseTime({ seconds: 400 });
    await fork.client.mine({ blocks: 1 });
    const reply = await running;
    expect(reply).toMatchObject({
      status: 422,
      body: { ok: false, code: 'SIMULATION_FAILED', retryable: false, next: 'rebuild', hash },
    });
    expect(await relayer.post(body)).toMatchObject({ status: reply.status, body: reply.body });
    const same = await buyAction(fork, agent, 50n * USD, { nonce: action.nonce, fee });
    expect((await relayer.post(await signedBody(fork, agent, same))).body).toMatchObject({
      code: 'SLOT_TAKEN',
      status: 'reverted',
    });
    await fork.client.setAutomine(true);
    const next = await buyAction(fork, agent, 50n * USD, { fee });
    expect((await relayer.post(await signedBody(fork, agent, next))).status).toBe(200);
  });
});

describe('a quote', () => {
  const baseFee = (wei: bigint) => fork.client.setNextBlockBaseFeePerGas({ baseFeePerGas: wei });
  const signed = async (action: Action): Promise<Reply> =>
    await relayer.post(await signedBody(fork, agent, action));
  /** The base fee in force; marks are a second old at most. */
  async function settleAt(wei: bigint): Promise<void> {
    await baseFee(wei);
    await fork.client.mine({ blocks: 1 });
    await delay(1_050);
  }

  it('is taken though the base fee doubles before it comes back', async () => {
    await settleAt(200_000_000n);
    const action = await buyAction(fork, agent, 50n * USD);
    const quote = await signed(action);
    const required = BigInt(String(quote.body.requiredFee));
    expect(Number(quote.body.quoteExpiresAt)).toBeGreaterThan(Date.now() / 1_000);
    await settleAt(420_000_000n);
    // A new action costs the new price; the quoted one keeps its own.
    const dearer = await signed(await buyAction(fork, agent, 50n * USD));
    expect(BigInt(String(dearer.body.requiredFee))).toBeGreaterThan((required * 3n) / 2n);
    expect((await signed({ ...action, fee: required - 1n })).body).toMatchObject({
      code: 'FEE_REQUIRED',
      requiredFee: required.toString(),
      quoteExpiresAt: quote.body.quoteExpiresAt,
    });
    expect((await signed({ ...action, fee: required })).status).toBe(200);
  });

  it('of before is not forced on who could pay less now, and nobody pays far too much', async () => {
    await settleAt(400_000_000n);
    const action = await buyAction(fork, agent, 50n * USD);
    const dear = BigInt(String((await signed(action)).body.requiredFee));
    await settleAt(100_000_000n);
    const tooMuch = await signed({ ...action, fee: dear * 2n });
    expect(tooMuch).toMatchObject({ status: 402, body: { code: 'FEE_REQUIRED' } });
    const cheap = BigInt(String(tooMuch.body.requiredFee));
    expect(cheap).toBeLessThan(dear);
    expect((await signed({ ...action, fee: cheap })).status).toBe(200);
  });

  it('is of the action that it was asked for: other terms under its nonce pay for their own gas', async () => {
    await settleAt(200_000_000n);
    const cheap = await buyAction(fork, agent, 20n * USD);
    const quoted = BigInt(String((await signed(cheap)).body.requiredFee));
    const vault = fork.vault('MAG7');
    const amount = SHARE / 4n;
    const { swaps, cost } = await buySwaps(fork.client, fork.deployment, vault, amount);
    const data = encodeAbiParameters(SWAPS, [swaps]);
    const dear = { ...cheap, vault, amount, limit: (cost * 103n) / 100n, data };
    const reply = await signed({ ...dear, fee: quoted });
    expect(reply).toMatchObject({ status: 402, body: { code: 'FEE_REQUIRED' } });
    const required = BigInt(String(reply.body.requiredFee));
    expect(required).toBeGreaterThan(quoted);
    expect((await signed({ ...dear, fee: required })).status).toBe(200);
  });

  it('ends, and survives a restart until then', async () => {
    await relayer.stop();
    relayer = await startTestRelayer(fork, data, { RELAY_QUOTE_SECONDS: '5' });
    await settleAt(100_000_000n);
    const action = await buyAction(fork, agent, 50n * USD);
    const first = await signed(action);
    await relayer.stop();
    relayer = await startTestRelayer(fork, data, { RELAY_QUOTE_SECONDS: '5' });
    await settleAt(400_000_000n);
    expect((await signed(action)).body.requiredFee).toBe(first.body.requiredFee);
    const expiresAt = Number(first.body.quoteExpiresAt);
    await until('the quote has ended', async () =>
      Date.now() / 1_000 > expiresAt + 1 ? true : null,
    );
    const second = await signed(action);
    expect(BigInt(String(second.body.requiredFee))).toBeGreaterThan(
      BigInt(String(first.body.requiredFee)),
    );
  });
});
