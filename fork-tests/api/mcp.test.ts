/** The tools of /mcp against a real chain: clients of both protocol eras get what the HTTP routes answer. */
import { encodeFunctionData, erc20Abi, type Hex } from 'viem';
import { afterEach, describe, expect, test } from 'vitest';
import { accountFactoryAbi } from '../../contracts-abi/generated/index.ts';
import { useFork } from '../harness/fork.ts';
import { hold } from './cover-agent.ts';
import { currentClient, legacyClient, type McpClient } from './mcp-client.ts';
import { planOf, sendApproval, sendCall, sendPlan } from './send-plan.ts';
import { type Answer, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork, { per: 'file' });

const USD = 1_000_000n;
const alice = () => fork.accounts.alice.account.address;
const agent = () => fork.accounts.agent.account.address;
const ERAS = { 'up to 2025-11-25': legacyClient, '2026-07-28': currentClient } as const;

let client: McpClient | undefined;
afterEach(async () => {
  await client?.close();
  client = undefined;
});

async function clientOf(era: keyof typeof ERAS): Promise<McpClient> {
  client = await ERAS[era](api.url);
  return client;
}

/** Alice has shares, an open limit buy, and an account on which the agent may trade. */
async function openEverything(): Promise<{ orderId: string; sharesWei: string }> {
  const build = (path: string, body: object) => api.post(path, { address: alice(), ...body });
  const buy = () => build('/v1/tx/buy', { ticker: 'CORE', amountUsdg: 200 });
  await sendApproval(fork, 'alice', planOf(await buy()));
  await sendPlan(fork, 'alice', planOf(await buy()));
  const limit = () =>
    build('/v1/tx/limit', { ticker: 'CORE', amountUsdg: 50, triggerNav: 1, simulate: false });
  await sendApproval(fork, 'alice', planOf(await limit()));
  await sendPlan(fork, 'alice', planOf(await limit()));
  const { accountFactory, usdg } = fork.deployment;
  const grant = {
    key: agent(),
    validUntil: (await fork.now()) + 7 * 86_400,
    maxSlippageBps: 100,
    coverEnabled: true,
    dailyLimit: 500n * USD,
    coverDailyLimit: 20n * USD,
  };
  await sendCall(
    fork,
    'alice',
    accountFactory,
    encodeFunctionData({ abi: accountFactoryAbi, functionName: 'openAndGrant', args: [grant] }),
  );
  const account = await fork.client.readContract({
    address: accountFactory,
    abi: accountFactoryAbi,
    functionName: 'accountOf',
    args: [alice()],
  });
  await sendCall(
    fork,
    'alice',
    usdg,
    encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [account, 300n * USD] }),
  );
  await hold(fork, account, 'CORE', 20n);
  await api.settled();
  const [order] = await listed<{ id: Hex }>('orders');
  const [position] = await listed<{ walletSharesWei: string }>('positions');
  return { orderId: order?.id ?? '', sharesWei: position?.walletSharesWei ?? '' };
}

/** What is listed for alice, once one is. */
async function listed<T>(what: 'orders' | 'positions'): Promise<T[]> {
  const rows = ({ body }: Answer) => body[what] as unknown as T[] | undefined;
  return (
    rows(await api.until(`/v1/${what}/${alice()}`, (answer) => rows(answer)?.length === 1)) ?? []
  );
}

/**
 * What two answers to the same question may differ in: when each was made, what that costs (a pool notes its price once a
 * second), and nonces, which are never given twice.
 */
const OF_THE_MOMENT = new Set(['asOfMs', 'nonce', 'change24h', 'buyCostBps', 'gas']);

function lasting(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lasting);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !OF_THE_MOMENT.has(key))
      .map(([key, item]) => [key, lasting(item)]),
  );
}

function okBody({ status, text, body }: Answer): Record<string, unknown> {
  expect({ status, text }).toEqual({ status: 200, text });
  return body;
}

describe.each(Object.keys(ERAS) as (keyof typeof ERAS)[])('a client of %s', (era) => {
  test('gets from every tool what the routes answer', async () => {
    const { orderId, sharesWei } = await openEverything();
    const { call, list } = await clientOf(era);
    const get = async (path: string) => okBody(await api.get(path));
    const build = async (path: string, body: object) => okBody(await api.post(path, body));
    const session = `owner=${alice()}&key=${agent()}`;
    const buy = { ticker: 'CORE', amountUsdg: 12.5, address: alice(), slippageBps: 80 };
    const sell = { ticker: 'CORE', shares: 'max', fraction: 0.5, address: alice() };
    const limit = { ticker: 'CORE', amountUsdg: 20, triggerNav: 90, address: alice() };
    const exit = { ticker: 'CORE', shares: sharesWei, stopNav: 50, tpNav: 500, address: alice() };
    const cancel = { orderId, address: alice() };
    const trade = { owner: alice(), key: agent(), ticker: 'CORE', side: 'buy', amountUsdg: 25 };
    const range = { ticker: 'CORE', fromBps: 300, toBps: 1_000, coverUsd: 200 };
    const take = { owner: alice(), key: agent(), action: 'take', ...range };
    const comparisons: [string, Record<string, unknown>, () => Promise<unknown>][] = [
      ['markets', { fields: 'ticker,nav' }, () => get('/v1/markets?fields=ticker,nav')],
      ['markets', { prices: '0' }, () => get('/v1/markets?prices=0')],
      [
        'basket',
        { ticker: 'CORE', days: 2 },
        async () => ({
          ...(await get('/v1/baskets/CORE')),
          navSummary: await get('/v1/nav/CORE/history?format=summary&days=2'),
        }),
      ],
      [
        'account',
        { address: alice() },
        async () => ({
          address: alice(),
          wallet: await get(`/v1/wallet/${alice()}`),
          positions: (await get(`/v1/positions/${alice()}`)).positions,
          orders: (await get(`/v1/orders/${alice()}`)).orders,
        }),
      ],
      ['buy', buy, () => build('/v1/tx/buy', buy)],
      ['sell', sell, () => build('/v1/tx/sell', sell)],
      ['order', { kind: 'limit', ...limit }, () => build('/v1/tx/limit', limit)],
      ['order', { kind: 'exit', ...exit }, () => build('/v1/tx/exit', exit)],
      ['order', { kind: 'cancel', ...cancel }, () => build('/v1/tx/cancel', cancel)],
      [
        'agent_session',
        { owner: alice(), key: agent() },
        () => get(`/v1/agent/session?${session}`),
      ],
      ['agent_trade', trade, () => build('/v1/agent/trade', trade)],
      ['cover', { view: 'weeks' }, () => get('/v1/cover/weeks')],
      [
        'cover',
        { view: 'book', ...range },
        () => get('/v1/cover/book/CORE?fromBps=300&toBps=1000&coverUsd=200'),
      ],
      [
        'cover',
        { view: 'positions', account: alice() },
        () => get(`/v1/cover/positions/${alice()}`),
      ],
      ['agent_cover', take, () => build('/v1/agent/cover', take)],
    ];
    for (const [tool, input, route] of comparisons) {
      const answer = await call(`basket_${tool}`, input);
      expect(answer.isError, `${tool} ${answer.content[0]?.text}`).toBeUndefined();
      expect([tool, lasting(answer.structuredContent)]).toEqual([tool, lasting(await route())]);
      expect(JSON.parse(answer.content[0]?.text ?? '')).toEqual(answer.structuredContent);
    }
    const guide = await call('basket_guide');
    expect(guide.content[0]?.text).toBe((await api.get('/llms.txt')).text);
    const called = new Set([...comparisons.map(([tool]) => tool), 'guide']);
    expect((await list()).map(({ name }) => name)).toEqual(
      [...called].map((tool) => `basket_${tool}`).toSorted(byListing(await list())),
    );
  });

  test('gets the routes’ refusals, with what to do next', async () => {
    await api.settled();
    const { call } = await clientOf(era);
    const secret = `0x${'ab'.repeat(32)}`;
    const refusals: [string, Record<string, unknown>, string, string, () => Promise<Answer>][] = [
      [
        'basket',
        { ticker: 'NOPE' },
        'UNKNOWN_BASKET',
        'rebuild',
        () => api.get('/v1/baskets/NOPE'),
      ],
      [
        'buy',
        { ticker: 'CORE', amountUsdg: -1, address: alice() },
        'BAD_REQUEST',
        'rebuild',
        () => api.post('/v1/tx/buy', { ticker: 'CORE', amountUsdg: -1, address: alice() }),
      ],
      [
        'sell',
        { ticker: 'CORE', shares: '1', address: agent() },
        'INSUFFICIENT_SHARES',
        'rebuild',
        () => api.post('/v1/tx/sell', { ticker: 'CORE', shares: '1', address: agent() }),
      ],
      [
        'agent_trade',
        { owner: agent(), key: agent(), ticker: 'CORE', side: 'buy', amountUsdg: 20 },
        'SESSION_INACTIVE',
        'ask_owner',
        () =>
          api.post('/v1/agent/trade', {
            owner: agent(),
            key: agent(),
            ticker: 'CORE',
            side: 'buy',
            amountUsdg: 20,
          }),
      ],
      [
        'cover',
        { view: 'book', ticker: 'PREIPO' },
        'COVER_CLOSED',
        'rebuild',
        () => api.get('/v1/cover/book/PREIPO'),
      ],
      [
        'agent_session',
        { owner: alice(), key: secret },
        'BAD_REQUEST',
        'rebuild',
        () => api.get(`/v1/agent/session?owner=${alice()}&key=${secret}`),
      ],
    ];
    for (const [tool, input, code, next, route] of refusals) {
      const { isError, structuredContent, content } = await call(`basket_${tool}`, input);
      const { body } = await route();
      expect({ isError, structuredContent }).toEqual({
        isError: true,
        structuredContent: { ...body, next },
      });
      expect(body.code).toBe(code);
      expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
      expect(content[0]?.text).not.toContain('abab');
    }
    await expect(call('basket_nothing')).rejects.toThrow('no tool has this name');
  });
});

test('a cancelled order is not cancelled again: nothing is to be rebuilt', async () => {
  const { orderId } = await openEverything();
  const cancel = { orderId, address: alice() };
  await sendPlan(fork, 'alice', planOf(await api.post('/v1/tx/cancel', cancel)));
  const { call } = await clientOf('2026-07-28');
  const { isError, structuredContent } = await call('basket_order', { kind: 'cancel', ...cancel });
  expect(isError).toBe(true);
  expect(structuredContent).toEqual({
    error: 'the order is cancelled already',
    code: 'ORDER_NOT_OPEN',
    retryable: false,
  });
});

/** In the order of the list itself. */
function byListing(tools: readonly { name: string }[]) {
  const places = new Map(tools.map(({ name }, at) => [name, at]));
  return (a: string, b: string) => (places.get(a) ?? 0) - (places.get(b) ?? 0);
}

test('calls are counted by tool and outcome', async () => {
  const { call } = await clientOf('up to 2025-11-25');
  await call('basket_guide');
  await call('basket_basket', { ticker: 'NOPE' });
  const { text } = await api.get('/metrics');
  expect(text).toMatch(/basket_api_mcp_calls_total\{tool="guide",outcome="ok"\} [1-9]/);
  expect(text).toMatch(
    /basket_api_mcp_calls_total\{tool="basket",outcome="UNKNOWN_BASKET"\} [1-9]/,
  );
});

test('the guide is text that a cache may keep', async () => {
  const guide = await api.get('/llms.txt');
  expect(guide.status).toBe(200);
  expect(guide.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(guide.headers.get('cache-control')).toBe('public, max-age=300');
  const etag = guide.headers.get('etag') ?? '';
  expect((await api.get('/llms.txt', { 'if-none-match': etag })).status).toBe(304);
  const { text } = await api.get('/v1/markets?fields=ticker');
  const { markets } = JSON.parse(text) as { markets: { ticker: string }[] };
  expect(markets.length).toBe(15);
  for (const { ticker } of markets) expect(guide.text).toContain(ticker);
  expect(guide.text).toContain(fork.deployment.usdg);
  expect(guide.text).toContain(fork.deployment.sessionModule);
});
