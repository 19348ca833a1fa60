/** Session and trade plans, executed through the session module by a signed action. */
import { rmSync } from 'node:fs';
import { encodeFunctionData, erc20Abi, type Hex, type TypedDataDefinition } from 'viem';
import { describe, expect, test } from 'vitest';
import { NonceLanes } from '../../api/session/nonces.ts';
import {
  accountFactoryAbi,
  safeAbi,
  sessionModuleAbi,
} from '../../contracts-abi/generated/index.ts';
import {
  type ActionJson,
  actionDigest,
  actionFromJson,
  actionTypedData,
} from '../../contracts-abi/typed-data.ts';
import { receiptOf } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { pauseProtocol } from '../harness/mined.ts';
import { balanceOf, sendCall } from './send-plan.ts';
import {
  type Answer,
  APPROVAL_URL,
  type ApiUnderTest,
  expectError,
  expectOk,
  launchApi,
  RELAYER_URL,
  useApi,
} from './use-api.ts';

const fork = useFork();
const api = useApi(fork, { per: 'file' });

const USD = 1_000_000n;
const owner = () => fork.accounts.alice.account.address;
const key = () => fork.accounts.agent.account.address;
const session = () => api.get(`/v1/agent/session?owner=${owner()}&key=${key()}`);
const trade = (body: object) =>
  api.post('/v1/agent/trade', { owner: owner(), key: key(), ticker: 'CORE', ...body });
const buy = (amountUsdg: number, body: object = {}) => trade({ side: 'buy', amountUsdg, ...body });
const sell = (shares: string, body: object = {}) => trade({ side: 'sell', shares, ...body });

type Terms = {
  validUntil: number;
  maxSlippageBps: number;
  coverEnabled: boolean;
  dailyLimit: bigint;
  coverDailyLimit: bigint;
};

/** Opens alice's account with a grant for the agent and puts USDG into it. */
async function openAccount(terms: Partial<Terms> = {}, funds = 1_000n * USD): Promise<Hex> {
  const { accountFactory, usdg } = fork.deployment;
  const grant = {
    key: key(),
    validUntil: (await fork.now()) + 7 * 86_400,
    maxSlippageBps: 100,
    coverEnabled: false,
    dailyLimit: 500n * USD,
    coverDailyLimit: 0n,
    ...terms,
  };
  const data = encodeFunctionData({
    abi: accountFactoryAbi,
    functionName: 'openAndGrant',
    args: [grant],
  });
  expect((await sendCall(fork, 'alice', accountFactory, data)).status).toBe('success');
  const account = await fork.client.readContract({
    address: accountFactory,
    abi: accountFactoryAbi,
    functionName: 'accountOf',
    args: [owner()],
  });
  const transfer = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'transfer',
    args: [account, funds],
  });
  expect((await sendCall(fork, 'alice', usdg, transfer)).status).toBe('success');
  return account;
}

/** As the Safe itself would, once its owner had signed. */
async function asAccount(account: Hex, to: Hex, data: Hex): Promise<void> {
  await fork.client.impersonateAccount({ address: account });
  await fork.client.setBalance({ address: account, value: 10n ** 18n });
  const hash = await fork.client.sendUnsignedTransaction({
    from: account,
    to,
    data,
    gas: 500_000n,
    maxFeePerGas: 2_000_000_000n,
    maxPriorityFeePerGas: 0n,
  });
  expect((await receiptOf(fork.client, hash, 20_000)).status).toBe('success');
}

type TradePlan = {
  ticker: string;
  status: Record<string, unknown>;
  action: ActionJson;
  typedData: TypedDataDefinition;
  relayerUrl: string;
  simulation: { ok: null; skipped: string };
};

function planOf(answer: Answer): TradePlan {
  expectOk(answer);
  return answer.body as unknown as TradePlan;
}

/** The host signer signs the typed data as it stands; anybody submits it. */
async function execute(plan: TradePlan): Promise<bigint> {
  const signature = await fork.accounts.agent.account.signTypedData(plan.typedData);
  const data = encodeFunctionData({
    abi: sessionModuleAbi,
    functionName: 'execute',
    args: [actionFromJson(plan.action), signature],
  });
  const receipt = await sendCall(fork, 'relayer', fork.deployment.sessionModule, data);
  expect(receipt.status).toBe('success');
  return receipt.gasUsed;
}

describe('GET /v1/agent/session', () => {
  test('returns the account before it exists', async () => {
    const answer = await session();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body).toEqual({
      owner: owner(),
      account: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      key: key(),
      chainId: 4663,
      module: fork.deployment.sessionModule,
      deployed: false,
      moduleEnabled: false,
      coverEnabled: false,
      active: false,
      paused: false,
      accountPaused: false,
      usdgWei: '0',
      dailyLimitUsdg: '0',
      remainingTodayUsdg: '0',
      coverDailyLimitUsdg: '0',
      maxSlippageBps: 0,
      validUntil: 0,
      approvalUrl: `${APPROVAL_URL}?owner=${owner()}&key=${key()}`,
      relayerUrl: `${RELAYER_URL}/relay/v1/account/execute`,
      revokeEffect: expect.any(String),
    });
    expect(await openAccount()).toBe(answer.body.account);
  });

  test('shows the live grant, its pauses and its end', async () => {
    const validUntil = (await fork.now()) + 3_600;
    const account = await openAccount({ validUntil, coverEnabled: true });
    expect((await session()).body).toMatchObject({
      deployed: true,
      moduleEnabled: true,
      coverEnabled: true,
      active: true,
      paused: false,
      usdgWei: '1000000000',
      dailyLimitUsdg: '500000000',
      remainingTodayUsdg: '500000000',
      maxSlippageBps: 100,
      validUntil,
    });
    await asAccount(
      account,
      fork.deployment.sessionModule,
      encodeFunctionData({ abi: sessionModuleAbi, functionName: 'setPaused', args: [true] }),
    );
    expect((await session()).body).toMatchObject({
      active: true,
      paused: true,
      accountPaused: true,
    });
    await fork.warp(3_601);
    expect((await session()).body).toMatchObject({ active: false, coverEnabled: false });
  });

  test('is inactive once the granting owner no longer owns the account', async () => {
    const account = await openAccount();
    const sentinel = '0x0000000000000000000000000000000000000001';
    const args = [sentinel, owner(), fork.accounts.bob.account.address] as const;
    const swapOwner = encodeFunctionData({ abi: safeAbi, functionName: 'swapOwner', args });
    await asAccount(account, account, swapOwner);
    expect((await session()).body).toMatchObject({ deployed: true, active: false });
    expectError(await buy(20), 403, 'SESSION_INACTIVE');
  });

  test('refuses what is no public address, and never echoes a pasted key', async () => {
    const secret = `0x${'ab'.repeat(32)}`;
    const answer = await api.get(`/v1/agent/session?owner=${owner()}&key=${secret}`);
    expectError(answer, 400, 'BAD_REQUEST', /leaked/);
    expect(answer.text).not.toContain('abab');
    expectError(await api.get(`/v1/agent/session?owner=${owner()}`), 400, 'BAD_REQUEST', /key/);
    const extra = await api.get(`/v1/agent/session?owner=${owner()}&key=${key()}&x=1`);
    expectError(extra, 400, 'BAD_REQUEST');
  });
});

describe('POST /v1/agent/trade', () => {
  test('a buy is signed, executed, and spends within its budget', async () => {
    const account = await openAccount();
    const plan = planOf(await buy(100, { feeUsdg: '250000' }));
    expect(plan.action).toMatchObject({
      account,
      key: key(),
      kind: 0,
      vault: fork.vault('CORE'),
      slippageBps: 50,
      fee: '250000',
    });
    expect(BigInt(plan.action.limit)).toBeLessThanOrEqual(100n * USD);
    const now = await fork.now();
    expect(plan.action.deadline - now).toBeGreaterThan(280);
    expect(plan.action.deadline - now).toBeLessThanOrEqual(300);
    expect(plan.typedData.domain).toEqual({
      name: 'basket account',
      version: '1',
      chainId: 4663,
      verifyingContract: fork.deployment.sessionModule,
    });
    expect(plan.relayerUrl).toBe(`${RELAYER_URL}/relay/v1/account/execute`);
    expect(plan.simulation.ok).toBeNull();
    const digest = await fork.client.readContract({
      address: fork.deployment.sessionModule,
      abi: sessionModuleAbi,
      functionName: 'hashAction',
      args: [actionFromJson(plan.action)],
    });
    expect(actionDigest(actionFromJson(plan.action), fork.deployment.sessionModule)).toBe(digest);

    await execute(plan);
    expect(await balanceOf(fork, fork.vault('CORE'), account)).toBe(BigInt(plan.action.amount));
    const left = await balanceOf(fork, fork.deployment.usdg, account);
    expect(1_000n * USD - left).toBeLessThanOrEqual(BigInt(plan.action.limit) + 250_000n);
    // The whole tolerance was left to the market, so what was bought is worth nearly the budget.
    expect(1_000n * USD - left).toBeGreaterThan(98n * USD);
    const { body } = await session();
    expect(BigInt(String(body.remainingTodayUsdg))).toBeLessThan(402n * USD);
  });

  test('a sale of the whole position is executed, whatever it is worth', async () => {
    const account = await openAccount();
    await execute(planOf(await buy(20)));
    const shares = await balanceOf(fork, fork.vault('CORE'), account);
    // Twice two thirds: what is left is worth less than $5.
    await execute(planOf(await sell(((shares * 2n) / 3n).toString())));
    const third = await balanceOf(fork, fork.vault('CORE'), account);
    await execute(planOf(await sell(((third * 4n) / 5n).toString())));
    const dust = await balanceOf(fork, fork.vault('CORE'), account);
    expectError(await sell((dust / 2n).toString()), 400, 'BAD_REQUEST', /smallest amount/);
    const plan = planOf(await sell(dust.toString()));
    expect(plan.action.kind).toBe(1);
    const before = await balanceOf(fork, fork.deployment.usdg, account);
    await execute(plan);
    expect(await balanceOf(fork, fork.vault('CORE'), account)).toBe(0n);
    const received = (await balanceOf(fork, fork.deployment.usdg, account)) - before;
    expect(received).toBeGreaterThanOrEqual(BigInt(plan.action.limit));
  });

  test('the smallest amount that it names works, a cent less does not', async () => {
    await openAccount();
    const refused = await buy(5);
    expectError(refused, 400, 'BAD_REQUEST', /smallest amount that works is/);
    const least = Number(/works is ([\d.]+)/.exec(String(refused.body.error))?.[1]);
    expect(least).toBeLessThan(5.1);
    const plan = planOf(await buy(least));
    await execute(plan);
    expectError(await buy(Number((least - 0.01).toFixed(2))), 400, 'BAD_REQUEST', /smallest/);
  });

  test('omitted slippage is 50, or the cap where that is lower; above the cap is a limit', async () => {
    await openAccount({ maxSlippageBps: 40 });
    expect(planOf(await buy(20)).action.slippageBps).toBe(40);
    expectError(await buy(20, { slippageBps: 41 }), 403, 'SESSION_LIMIT', /owner allows/);
    // Today's all-in cost (protocol fee, pool fees, impact) is above 20 bps.
    expectError(await buy(20, { slippageBps: 21 }), 400, 'BAD_REQUEST', /costs \d+ bps/);
  });

  test('a cost that the grant does not allow is a limit, not a bad request', async () => {
    await openAccount({ maxSlippageBps: 21 });
    expectError(await buy(20), 403, 'SESSION_LIMIT', /costs \d+ bps/);
  });

  test('never plans past the end of the grant', async () => {
    const validUntil = (await fork.now()) + 120;
    await openAccount({ validUntil });
    expect(planOf(await buy(20)).action.deadline).toBe(validUntil);
  });

  test('counts turnover, fees and funds', async () => {
    await openAccount({ dailyLimit: 30n * USD }, 25n * USD);
    expectError(await buy(40), 403, 'SESSION_LIMIT', /turnover/);
    expectError(await buy(28), 422, 'INSUFFICIENT_FUNDS', /holds 25 USDG/);
    expectError(await buy(20, { feeUsdg: '10000001' }), 400, 'BAD_REQUEST', /10 dollars/);
    // 20% of $30 is the day's cap of network fees.
    expectError(await buy(20, { feeUsdg: '6000001' }), 403, 'SESSION_LIMIT', /network fees/);
    expectError(await sell('1000000000000000000'), 422, 'INSUFFICIENT_SHARES');
    planOf(await buy(20, { feeUsdg: '4000000' }));
  });

  test('without a grant, without a reference, while paused: each says so', async () => {
    expectError(await buy(20), 403, 'SESSION_INACTIVE');
    await openAccount();
    expectError(await buy(20, { ticker: 'FRESH' }), 422, 'NO_REFERENCE');
    expectError(await buy(20, { ticker: 'NONE' }), 400, 'UNKNOWN_BASKET');
    await pauseProtocol(fork);
    const paused = await buy(20);
    expectError(paused, 503, 'PAUSED');
    expect(paused.body.retryable).toBe(true);
  });

  test('a spot price far from the average is no reference', async () => {
    await openAccount();
    await fork.pushPrice('SPY', 1.06);
    await api.marksSettled();
    expectError(await buy(20), 422, 'NO_REFERENCE', /3%/);
  });

  test('refuses even a trade without a fee once a lowered limit lies under the fees paid today', async () => {
    const account = await openAccount();
    await execute(planOf(await buy(100, { feeUsdg: '9000000' })));
    const lowered = {
      key: key(),
      validUntil: (await fork.now()) + 86_400,
      maxSlippageBps: 100,
      coverEnabled: false,
      dailyLimit: 40n * USD,
      coverDailyLimit: 0n,
    };
    await asAccount(
      account,
      fork.deployment.sessionModule,
      encodeFunctionData({ abi: sessionModuleAbi, functionName: 'grant', args: [lowered] }),
    );
    // 20% of $40 is less than the $9 paid.
    expectError(await buy(10), 403, 'SESSION_LIMIT', /has paid \$9 of network fees today.*\$8/);
    const shares = await balanceOf(fork, fork.vault('CORE'), account);
    expectError(await sell(shares.toString()), 403, 'SESSION_LIMIT', /network fees/);
  });

  // Two hundred and more at once: session/nonces.test.ts, where no chain is waited for.
  test('builds at once, and those of a second replica, propose nonces that never meet', async () => {
    const account = await openAccount();
    await execute(planOf(await buy(100)));
    const shares = await balanceOf(fork, fork.vault('CORE'), account);
    const replica = await launchApi(fork.url, fork.deployment);
    try {
      await replica.marksSettled();
      const body = {
        owner: owner(),
        key: key(),
        ticker: 'CORE',
        side: 'sell',
        shares: shares.toString(),
      };
      const noncesOf = async (each: Pick<ApiUnderTest, 'post'>, count: number) => {
        const builds = Array.from({ length: count }, () => each.post('/v1/agent/trade', body));
        return (await Promise.all(builds)).map((answer) => BigInt(planOf(answer).action.nonce));
      };
      const [ours, theirs] = await Promise.all([noncesOf(api, 40), noncesOf(replica, 10)]);
      expect(new Set([...ours, ...theirs]).size).toBe(50);
      const wordsOf = (nonces: readonly bigint[]) => new Set(nonces.map((nonce) => nonce >> 8n));
      // The cheap ones: a replica's own word of storage, or two where earlier builds had begun it.
      expect(wordsOf(ours).size).toBeLessThanOrEqual(2);
      expect(wordsOf(theirs).size).toBe(1);
    } finally {
      await replica.stop();
      rmSync(replica.folder, { recursive: true, force: true });
    }
  });

  test('a second action of a word costs a fifth of the storage that the first did', async () => {
    await openAccount();
    // The first buys also create balances: the third and the fourth differ by their nonces alone.
    const gas: bigint[] = [];
    const fresh = new NonceLanes();
    for (let count = 0; count < 4; count += 1) {
      const plan = planOf(await buy(20));
      if (count === 2) {
        const epoch = 1;
        plan.action.nonce = fresh.propose(plan.action.account, key(), epoch).toString();
        plan.typedData = actionTypedData(
          actionFromJson(plan.action),
          fork.deployment.sessionModule,
        );
      }
      // A second of its own for each: within one, pools write no observation and the vault accrues no fee.
      await fork.client.setNextBlockTimestamp({ timestamp: BigInt((await fork.now()) + 5) });
      gas.push(await execute(plan));
    }
    const [, , inFreshWord = 0n, inUsedWord = 0n] = gas;
    expect(inFreshWord - inUsedWord).toBeGreaterThan(15_000n);
    expect(inFreshWord - inUsedWord).toBeLessThan(19_000n);
  });

  test('refuses malformed terms', async () => {
    const malformed = [
      ['unknown key', { side: 'buy', amountUsdg: 20, foo: 1 }],
      ['no side', { amountUsdg: 20 }],
      ['other side', { side: 'short', amountUsdg: 20 }],
      ['buy without a budget', { side: 'buy' }],
      ['buy with shares', { side: 'buy', amountUsdg: 20, shares: '1' }],
      ['sale with a budget', { side: 'sell', shares: '1', amountUsdg: 20 }],
      ['sale without shares', { side: 'sell' }],
      ['shares as a number', { side: 'sell', shares: 1e18 }],
      ['max', { side: 'sell', shares: 'max' }],
      ['below 5 dollars', { side: 'buy', amountUsdg: 4.999_999 }],
      ['slippage 0', { side: 'buy', amountUsdg: 20, slippageBps: 0 }],
      ['slippage 1001', { side: 'buy', amountUsdg: 20, slippageBps: 1_001 }],
      ['slippage 1.5', { side: 'buy', amountUsdg: 20, slippageBps: 1.5 }],
      ['fee as a number', { side: 'buy', amountUsdg: 20, feeUsdg: 0 }],
      ['negative fee', { side: 'buy', amountUsdg: 20, feeUsdg: '-1' }],
    ] as const;
    for (const [name, body] of malformed) {
      const answer = await trade(body);
      expect({ name, status: answer.status, code: answer.body.code }).toEqual({
        name,
        status: 400,
        code: 'BAD_REQUEST',
      });
    }
  });
});
