import { type Address, encodeFunctionData, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { protocolPauseAbi, sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { ACTION_KIND, type Action, actionDigest } from '../../contracts-abi/typed-data.ts';
import { useFork } from '../harness/fork.ts';
import { type Agent, asAccount, buyAction, mine, openAgent, signedBody } from './agent.ts';
import { type DataFolder, dataFolder, startTestRelayer, type TestRelayer } from './relayer.ts';

const fork = useFork();
let data: DataFolder;
let relayer: TestRelayer;
let agent: Agent;
let sentBefore: number;

const sent = () =>
  fork.client.getTransactionCount({ address: fork.accounts.relayer.account.address });

beforeAll(async () => {
  data = dataFolder();
  agent = await openAgent(fork, 'alice');
  relayer = await startTestRelayer(fork, data);
});
afterAll(async () => {
  await relayer?.stop();
  data.remove();
});
beforeEach(async () => {
  sentBefore = await sent();
});
afterEach(async () => {
  if ((await sent()) !== sentBefore) throw new Error('a refused action was sent');
  const { queued, inFlight } = relayer.sender.status();
  if (queued + inFlight > 0) throw new Error('a refused action is with the sender');
});

/** Posts a $50 buy with changes, signed by the agent's key. */
async function post(changes: Partial<Action> = {}, from: Agent = agent) {
  const action = await buyAction(fork, from, 50n * USD, changes);
  return await relayer.post(await signedBody(fork, from, action));
}

const revoke = (key: Address): Hex =>
  encodeFunctionData({ abi: sessionModuleAbi, functionName: 'revoke', args: [key] });
const setPaused = (paused: boolean): Hex =>
  encodeFunctionData({ abi: sessionModuleAbi, functionName: 'setPaused', args: [paused] });

describe('an action is refused before anything is sent, with code and next step', () => {
  it.each<[string, Partial<Action>, number, string, string]>([
    ['slippage above the grant', { slippageBps: 301 }, 403, 'SESSION_LIMIT', 'ask_owner'],
    ['a fee above $10', { fee: 10_000_001n }, 403, 'SESSION_LIMIT', 'ask_owner'],
    ['a nonce outside the key', { nonce: 1n }, 400, 'BAD_REQUEST', 'rebuild'],
    ['a kind that is none', { kind: 4 }, 400, 'BAD_REQUEST', 'rebuild'],
    ['data that is no list of swaps', { data: '0x1234' }, 422, 'SIMULATION_FAILED', 'rebuild'],
    ['less than $5', { amount: 10n ** 15n }, 422, 'SIMULATION_FAILED', 'rebuild'],
    ['a limit that is too tight', { limit: 40n * USD }, 422, 'SIMULATION_FAILED', 'rebuild'],
    [
      'a sale of what is not held',
      { kind: ACTION_KIND.sell },
      422,
      'INSUFFICIENT_SHARES',
      'rebuild',
    ],
  ])('%s', async (_name, changes, status, code, next) => {
    const reply = await post(changes);
    expect(reply.body).toMatchObject({ ok: false, code, retryable: false, next });
    expect(reply.status).toBe(status);
  });

  it('an unknown vault, by the name of the error', async () => {
    const { body, status } = await post({ vault: fork.deployment.usdg, amount: 0n });
    expect(status).toBe(422);
    expect(body).toMatchObject({
      code: 'SIMULATION_FAILED',
      revert: expect.stringMatching(/^UnknownVault/),
    });
  });

  it('a basket without a reference', async () => {
    const { body, status } = await post({ vault: fork.vault('FRESH') });
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'NO_REFERENCE' });
  });

  it('more than the account holds', async () => {
    const poor = await openAgent(fork, 'bob', 10n * USD);
    const { body, status } = await post({}, poor);
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'INSUFFICIENT_FUNDS' });
    const empty = await openAgent(fork, 'carol', 0n);
    expect((await post({}, empty)).body).toMatchObject({
      code: 'INSUFFICIENT_FUNDS',
      usdgWei: '0',
    });
  });

  it('more than the day allows, as the module counts it', async () => {
    const limited = await openAgent(fork, 'bob', 1_000n * USD, { dailyLimit: 30n * USD });
    const { body, status } = await post({}, limited);
    expect(status).toBe(403);
    expect(body).toMatchObject({ code: 'SESSION_LIMIT', next: 'ask_owner' });
  });

  it('a fee that the key may not pay today', async () => {
    const limited = await openAgent(fork, 'bob', 1_000n * USD, { dailyLimit: 5n * USD });
    expect((await post({ fee: 1_000_001n }, limited)).body).toMatchObject({
      code: 'SESSION_LIMIT',
    });
  });

  it('a key that was never granted', async () => {
    const stranger = { ...agent, key: privateKeyToAccount(generatePrivateKey()) };
    const { body, status } = await post({}, stranger);
    expect(status).toBe(403);
    expect(body).toMatchObject({ code: 'SESSION_INACTIVE', next: 'ask_owner' });
  });

  it('a revoked key, and an action of an earlier grant', async () => {
    const old = await buyAction(fork, agent, 50n * USD);
    await asAccount(fork, agent, revoke(agent.key.address));
    expect((await relayer.post(await signedBody(fork, agent, old))).body).toMatchObject({
      code: 'SESSION_INACTIVE',
    });
    const grant = {
      key: agent.key.address,
      validUntil: (await fork.now()) + 86_400,
      maxSlippageBps: 300,
      coverEnabled: false,
      dailyLimit: 500n * USD,
      coverDailyLimit: 0n,
    };
    await asAccount(
      fork,
      agent,
      encodeFunctionData({ abi: sessionModuleAbi, functionName: 'grant', args: [grant] }),
    );
    const { body, status } = await relayer.post(await signedBody(fork, agent, old));
    expect(status).toBe(403);
    expect(body.error).toMatch(/earlier grant/);
  });

  it('a grant that has expired', async () => {
    const brief = await openAgent(fork, 'bob', 100n * USD, { validFor: 60 });
    await fork.warp(61);
    expect((await post({}, brief)).body).toMatchObject({ code: 'SESSION_INACTIVE' });
  });

  it('a service paused by the guardian, an account paused by its owner', async () => {
    const paused = {
      status: 503,
      body: { ok: false, code: 'PAUSED', retryable: true, next: 'wait' },
    };
    await asAccount(fork, agent, setPaused(true));
    expect(await post()).toMatchObject(paused);
    await asAccount(fork, agent, setPaused(false));
    expect((await post()).status).toBe(402);
    const guardian = fork.userClient('guardian');
    await mine(
      fork,
      await guardian.writeContract({
        address: fork.deployment.pause,
        abi: protocolPauseAbi,
        functionName: 'pause',
        chain: null,
        maxFeePerGas: 2_000_000_000n,
        maxPriorityFeePerGas: 0n,
      }),
    );
    expect(await post()).toMatchObject(paused);
  });
});

describe('deadlines are judged by the chain and not by this machine', () => {
  it.each([
    ['at the present', 0],
    ['an hour ahead', 3_600],
  ])('with the chain %s', async (_name, ahead) => {
    if (ahead > 0) await fork.warp(ahead);
    const now = await fork.now();
    for (const [left, code] of [
      [-1, 'EXPIRED'],
      [1, 'EXPIRED'],
      [4, 'EXPIRED'],
      [5, 'FEE_REQUIRED'],
      [900, 'FEE_REQUIRED'],
      [901, 'BAD_REQUEST'],
    ] as const) {
      expect({ left, code: (await post({ deadline: now + left })).body.code }).toEqual({
        left,
        code,
      });
    }
  });

  it('answers 410 with rebuild', async () => {
    const reply = await post({ deadline: (await fork.now()) - 1 });
    expect(reply).toMatchObject({ status: 410, body: { code: 'EXPIRED', next: 'rebuild' } });
  });
});

describe('signatures', () => {
  it('of another key, another chain or form are refused with 401', async () => {
    const good = await signedBody(fork, agent, await buyAction(fork, agent, 50n * USD));
    const stranger = { ...agent, key: privateKeyToAccount(generatePrivateKey()) };
    const action = await buyAction(fork, agent, 50n * USD);
    const forged = await signedBody(fork, stranger, action);
    for (const signature of [
      forged.signature,
      `${good.signature}00`,
      good.signature.slice(0, -2),
      '0x',
    ]) {
      const { body, status } = await relayer.post({ action: good.action, signature });
      expect({ status, ...body }).toMatchObject({
        status: 401,
        code: 'BAD_SIGNATURE',
        next: 'rebuild',
      });
    }
    const { body } = await relayer.post({ ...good, action: { ...good.action, fee: '1' } });
    expect(body).toMatchObject({ code: 'BAD_SIGNATURE' });
  });
});

describe('a flood of strangers', () => {
  it('who sign well for keys that nobody granted leaves no rows, and the agent is served meanwhile', async () => {
    const action = await buyAction(fork, agent, 50n * USD);
    const strangers = await Promise.all(
      Array.from({ length: 60 }, async () => {
        const stranger = { ...agent, key: privateKeyToAccount(generatePrivateKey()) };
        return await signedBody(fork, stranger, { ...action, key: stranger.key.address });
      }),
    );
    const flood = Promise.all(strangers.map((body) => relayer.post(body)));
    const served = await relayer.post(await signedBody(fork, agent, action));
    expect(served.status).toBe(402);
    expect(new Set((await flood).map(({ body }) => body.code))).toEqual(
      new Set(['SESSION_INACTIVE']),
    );
    // The slot that all of them named is the agent's alone.
    const status = await relayer.get(`/relay/v1/account/${agent.account}/nonce/${action.nonce}`);
    expect(status.body).toMatchObject({
      used: false,
      action: { digest: actionDigest(action, fork.deployment.sessionModule), status: 'unsent' },
    });
  });
});

describe('bodies', () => {
  it.each<[string, string, number, string]>([
    ['no JSON', '{"action":', 400, 'BAD_REQUEST'],
    ['nothing', '', 400, 'BAD_REQUEST'],
    ['a key twice', '{"action":{},"signature":"0x","action":{}}', 400, 'BAD_REQUEST'],
    ['deep nesting', `${'['.repeat(10_000)}${']'.repeat(10_000)}`, 400, 'BAD_REQUEST'],
    ['a huge one', JSON.stringify({ action: 'x'.repeat(300_000) }), 413, 'BAD_REQUEST'],
    [
      'a cover action',
      '{"action":{"account":"0x","key":"0x","kind":0,"data":"0x","nonce":"0","deadline":0,"fee":"0"},"signature":"0x"}',
      400,
      'BAD_REQUEST',
    ],
  ])('%s', async (_name, text, status, code) => {
    const reply = await relayer.postText(text);
    expect(reply.body).toMatchObject({
      ok: false,
      code,
      next: 'rebuild',
      error: expect.any(String),
    });
    expect(reply.status).toBe(status);
  });

  it('of another media type, and by another method or path', async () => {
    expect((await relayer.postText('a=1', { 'content-type': 'text/plain' })).status).toBe(415);
    const get = await relayer.get('/relay/v1/account/execute');
    expect(get.status).toBe(405);
    expect(get.headers.get('allow')).toBe('POST, OPTIONS');
    expect((await relayer.get('/relay/v2')).body).toMatchObject({ ok: false, code: 'NOT_FOUND' });
  });
});

describe('what the process itself limits', () => {
  const withEnv = async (
    env: Record<string, string>,
    use: (limited: TestRelayer) => Promise<void>,
  ): Promise<void> => {
    const folder = dataFolder();
    const limited = await startTestRelayer(fork, folder, env);
    try {
      await use(limited);
    } finally {
      await limited.stop();
      folder.remove();
    }
  };

  it('actions per key, with Retry-After, and other keys go on', async () => {
    await withEnv({ RELAY_KEY_REQUESTS_PER_MINUTE: '3' }, async (limited) => {
      const body = await signedBody(fork, agent, await buyAction(fork, agent, 50n * USD));
      for (let turn = 0; turn < 3; turn += 1) expect((await limited.post(body)).status).toBe(402);
      const reply = await limited.post(body);
      expect(reply).toMatchObject({
        status: 429,
        body: { ok: false, code: 'RATE_LIMITED', retryable: true, next: 'wait' },
      });
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      const other = await openAgent(fork, 'bob');
      const action = await buyAction(fork, other, 50n * USD);
      expect((await limited.post(await signedBody(fork, other, action))).status).toBe(402);
    });
  });

  it("accounts and keys by the operator's lists, before anything is read", async () => {
    const body = await signedBody(fork, agent, await buyAction(fork, agent, 50n * USD));
    const refused = { status: 403, body: { code: 'SESSION_INACTIVE', check: 'list' } };
    await withEnv({ RELAY_DENY: agent.key.address }, async (limited) => {
      expect(await limited.post(body)).toMatchObject(refused);
      const other = await openAgent(fork, 'bob');
      const action = await buyAction(fork, other, 50n * USD);
      expect((await limited.post(await signedBody(fork, other, action))).status).toBe(402);
    });
    await withEnv({ RELAY_ALLOW: fork.deployment.usdg }, async (limited) => {
      expect(await limited.post(body)).toMatchObject(refused);
    });
  });

  it('requests per client address', async () => {
    await withEnv({ HTTP_REQUESTS_PER_MINUTE: '2' }, async (limited) => {
      for (let turn = 0; turn < 2; turn += 1) expect((await limited.post({})).status).toBe(400);
      const reply = await limited.post({});
      expect(reply).toMatchObject({ status: 429, body: { ok: false, code: 'RATE_LIMITED' } });
      expect(reply.headers.get('retry-after')).toBe('60');
    });
  });

  it('gas of the day: 503, and /ready says so', async () => {
    await withEnv({ RELAY_DAILY_GAS_BUDGET_ETH: '0' }, async (limited) => {
      const body = await signedBody(fork, agent, await buyAction(fork, agent, 50n * USD));
      expect(await limited.post(body)).toMatchObject({ status: 503, body: { code: 'PAUSED' } });
      const ready = await limited.get('/ready');
      expect(ready.status).toBe(503);
      expect(JSON.stringify(ready.body)).toContain('gas budget');
    });
  });

  it('a wallet without ETH: 503, and /ready says so', async () => {
    const empty = generatePrivateKey();
    await withEnv({ WALLET_PRIVATE_KEYS: empty }, async (limited) => {
      const body = await signedBody(fork, agent, await buyAction(fork, agent, 50n * USD));
      expect(await limited.post(body)).toMatchObject({ status: 503, body: { code: 'PAUSED' } });
      expect((await limited.get('/ready')).status).toBe(503);
    });
  });
});
