/**
 * The owner's approval page without a browser: what is served, and what its transactions do on the chain. A real
 * browser opens it in fork-tests/system.
 */
import { encodeFunctionData, erc20Abi, type Hex } from 'viem';
import { describe, expect, test } from 'vitest';
import { readAccount } from '../../api/approval/account.ts';
import { readLink } from '../../api/approval/link.ts';
import { readTerms, type Terms } from '../../api/approval/terms.ts';
import {
  approvalSteps,
  grantTerms,
  pauseStep,
  revokeStep,
  type Step,
} from '../../api/approval/transactions.ts';
import { USD } from '../../contracts-abi/constants.ts';
import { safeAbi, sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { receiptOf } from '../chain/client.ts';
import type { Role } from '../chain/seed/accounts.ts';
import { useFork } from '../harness/fork.ts';
import { sendCall } from './send-plan.ts';
import { useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork, { per: 'file' });

const owner = () => fork.accounts.alice.account.address;
const key = () => fork.accounts.agent.account.address;

const TERMS: Terms = {
  dailyLimit: 120n * USD,
  maxSlippageBps: 100,
  days: 7,
  coverEnabled: false,
  coverDailyLimit: 0n,
};

async function state() {
  const read = await readAccount(fork.client, fork.deployment, owner());
  if (read.tag !== 'ok') throw new Error(read.why);
  return read.state;
}

async function send(steps: readonly Step[], from: Role = 'alice'): Promise<void> {
  for (const { to, data } of steps) {
    expect((await sendCall(fork, from, to, data)).status).toBe('success');
  }
}

/** What the page does on "Approve"; the number of transactions. */
async function approve(terms: Partial<Terms> = {}): Promise<number> {
  const now = await state();
  const grant = grantTerms(key(), { ...TERMS, ...terms }, now.now);
  const steps = approvalSteps(fork.deployment, now, grant);
  await send(steps);
  return steps.length;
}

async function session(): Promise<Record<string, unknown>> {
  const { body, status } = await api.get(`/v1/agent/session?owner=${owner()}&key=${key()}`);
  expect(status).toBe(200);
  return body;
}

/** The Safe calls itself, as its owners have it do. */
async function asAccount(account: Hex, data: Hex): Promise<void> {
  await fork.client.impersonateAccount({ address: account });
  await fork.client.setBalance({ address: account, value: 10n ** 18n });
  const hash = await fork.client.request({
    method: 'eth_sendTransaction',
    params: [
      { from: account, to: account, data, maxPriorityFeePerGas: '0x0', maxFeePerGas: '0x3b9aca00' },
    ],
  } as never);
  expect((await receiptOf(fork.client, hash, 20_000)).status).toBe('success');
}

const switchOff = (module: Hex, before: Hex) =>
  encodeFunctionData({ abi: safeAbi, functionName: 'disableModule', args: [before, module] });

describe('GET /approve', () => {
  test('is a page without a script of its own, whose files come from here alone', async () => {
    const page = await api.get('/approve');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = String(page.headers.get('content-security-policy'));
    for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
      expect(policy).toContain(rule);
    }
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(page.text).not.toMatch(/<script(?![^>]* src=)|\son\w+=|style=|javascript:/i);
    const links = [...page.text.matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, link]) => link);
    expect(new Set(links)).toEqual(new Set(['approve/page.css', 'approve/page.js', 'data:,']));
    const config = await api.get('/approve/config.json');
    expect(config.body).toMatchObject({
      chain: { id: 4663, name: 'Robinhood Chain' },
      usdg: fork.deployment.usdg,
      addresses: {
        accountFactory: fork.deployment.accountFactory,
        sessionModule: fork.deployment.sessionModule,
        coverModule: fork.deployment.coverModule,
      },
    });
  });

  test('its script is bundled from the sources, the same for all who ask', async () => {
    const asked = await Promise.all([1, 2].map(() => api.get('/approve/page.js')));
    for (const { status, headers, text } of asked) {
      expect([status, headers.get('content-type')]).toEqual([
        200,
        'text/javascript; charset=utf-8',
      ]);
      expect(text).toContain('eip6963:requestProvider');
      expect(text).not.toMatch(/\b(eval|Function)\(|innerHTML|document\.write/);
    }
    const etag = String(asked[0]?.headers.get('etag'));
    expect(etag).toBe(asked[1]?.headers.get('etag'));
    const again = await api.get('/approve/page.js', { 'if-none-match': etag });
    expect(again.status).toBe(304);
  });

  test('a slash at its end leads to the page, the link intact', async () => {
    const query = `?owner=${owner()}&key=${key()}`;
    const answer = await fetch(`${api.url}/approve/${query}`, { redirect: 'manual' });
    expect(answer.status).toBe(308);
    const to = new URL(String(answer.headers.get('location')), `${api.url}/approve/`);
    expect(to.href).toBe(`${api.url}/approve${query}`);
  });
});

describe('approvalUrl', () => {
  test('is a link that the page reads', async () => {
    const { approvalUrl } = await session();
    const read = readLink(new URL(String(approvalUrl)).search);
    expect(read).toEqual({ tag: 'ok', owner: owner(), key: key() });
  });
});

describe('the transactions of the page', () => {
  test('one opens the account with its first grant, and the agent can trade within it', async () => {
    expect(await approve({ coverEnabled: true, coverDailyLimit: 12n * USD })).toBe(1);
    const { account, now } = await state();
    expect(await session()).toMatchObject({
      account,
      active: true,
      coverEnabled: true,
      dailyLimitUsdg: '120000000',
      remainingTodayUsdg: '120000000',
      coverDailyLimitUsdg: '12000000',
      maxSlippageBps: 100,
    });
    expect(Number((await session()).validUntil)).toBeGreaterThan(now + 6 * 86_400);
    const fund = encodeFunctionData({
      abi: erc20Abi,
      functionName: 'transfer',
      args: [account, 50n * USD],
    });
    await sendCall(fork, 'alice', fork.deployment.usdg, fund);
    const trade = { owner: owner(), key: key(), ticker: 'CORE', side: 'buy', amountUsdg: 20 };
    expect((await api.post('/v1/agent/trade', trade)).status).toBe(200);
    const tooMuch = await api.post('/v1/agent/trade', { ...trade, amountUsdg: 130 });
    expect(tooMuch.body.code).toBe('SESSION_LIMIT');
  });

  test('one changes the limits, one revokes, one grants again', async () => {
    await approve();
    expect(await approve({ dailyLimit: 30n * USD, maxSlippageBps: 50 })).toBe(1);
    expect(await session()).toMatchObject({
      active: true,
      dailyLimitUsdg: '30000000',
      maxSlippageBps: 50,
    });
    await send([revokeStep(fork.deployment, await state(), key())]);
    expect(await session()).toMatchObject({ active: false });
    expect(await approve()).toBe(1);
    expect(await session()).toMatchObject({ active: true, dailyLimitUsdg: '120000000' });
  });

  test('one pauses every key of the account, one lets them go on', async () => {
    await approve();
    await send([pauseStep(fork.deployment, await state(), true)]);
    expect(await session()).toMatchObject({ active: true, paused: true, accountPaused: true });
    await send([pauseStep(fork.deployment, await state(), false)]);
    expect(await session()).toMatchObject({ active: true, paused: false, accountPaused: false });
  });

  test('modules that the owner switched off are switched on first, cover only when it is wanted', async () => {
    await approve();
    const { account } = await state();
    const { sessionModule, coverModule } = fork.deployment;
    const sentinel = '0x0000000000000000000000000000000000000001';
    // The list is linked, the newest first.
    await asAccount(account, switchOff(coverModule, sentinel));
    await asAccount(account, switchOff(sessionModule, sentinel));
    expect(await session()).toMatchObject({ active: false, moduleEnabled: false });
    expect(await approve()).toBe(2);
    expect(await session()).toMatchObject({ active: true, coverEnabled: false });
    expect(await approve({ coverEnabled: true, coverDailyLimit: USD })).toBe(2);
    expect(await session()).toMatchObject({ active: true, coverEnabled: true });
    expect(await state()).toMatchObject({ sessionModuleEnabled: true, coverModuleEnabled: true });
  });

  test('are worth nothing from another wallet', async () => {
    await approve();
    const { to, data } = revokeStep(fork.deployment, await state(), key());
    await expect(
      fork.client.call({ account: fork.accounts.bob.account.address, to, data }),
    ).rejects.toThrow(/GS025/);
    const grant = grantTerms(key(), TERMS, await fork.now());
    const direct = encodeFunctionData({
      abi: sessionModuleAbi,
      functionName: 'grant',
      args: [grant],
    });
    await expect(
      fork.client.call({ account: owner(), to: fork.deployment.sessionModule, data: direct }),
    ).rejects.toThrow();
    expect(await session()).toMatchObject({ active: true });
  });

  test('an account of several owners, or of another, is left alone', async () => {
    await approve();
    const { account } = await state();
    const { address: bob } = fork.accounts.bob.account;
    const add = (threshold: bigint) =>
      encodeFunctionData({
        abi: safeAbi,
        functionName: 'addOwnerWithThreshold',
        args: [bob, threshold],
      });
    await asAccount(account, add(1n));
    const shared = await readAccount(fork.client, fork.deployment, owner());
    expect(shared).toMatchObject({ tag: 'foreign', why: expect.stringMatching(/several owners/) });
    const remove = encodeFunctionData({
      abi: safeAbi,
      functionName: 'removeOwner',
      args: [bob, owner(), 1n],
    });
    await asAccount(account, remove);
    const sold = await readAccount(fork.client, fork.deployment, owner());
    expect(sold).toMatchObject({ tag: 'foreign', why: expect.stringMatching(/another owner/) });
  });

  test('what the form takes, the chain takes: least and most of every limit', async () => {
    for (const [dailyLimit, slippage, days, coverLimit] of [
      ['5', '0.01', '1', '1'],
      ['1000000', '10', '90', '1000000'],
    ] as const) {
      const read = readTerms({ dailyLimit, slippage, days, coverEnabled: true, coverLimit });
      if (read.tag === 'bad') throw new Error(JSON.stringify(read.errors));
      await approve(read.terms);
      expect(await session()).toMatchObject({
        active: true,
        coverEnabled: true,
        dailyLimitUsdg: read.terms.dailyLimit.toString(),
        maxSlippageBps: read.terms.maxSlippageBps,
      });
    }
  });
});
