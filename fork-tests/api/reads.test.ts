/** The reads: shapes as wire.md has them, caching, CORS, errors. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { BASKETS } from '../chain/seed/baskets.ts';
import { useFork } from '../harness/fork.ts';
import { planOf, sendPlan } from './send-plan.ts';
import { expectError, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork, { per: 'file' });

const addr = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const wei = z.string().regex(/^\d+$/);
const summary = z.object({
  ticker: z.string(),
  name: z.string(),
  thesis: z.string(),
  vault: addr,
  rebalance: z.string(),
  mgmtFeeBps: z.int(),
  targetWeights: z.record(z.string(), z.number()),
  nav: z.number().nullable(),
  change24h: z.number().nullable(),
  buyCostBps: z.number().nullable(),
  group: z.string(),
  risk: z.string().nullable(),
  riskNote: z.string().nullable(),
});
const stamp = { asOfMs: z.int(), live: z.boolean() };
const baskets = z.strictObject({ indexes: z.array(summary.strict()), ...stamp });
const detail = summary.extend({
  constituents: z.array(
    z.strictObject({
      symbol: z.string(),
      address: addr.nullable(),
      targetWeight: z.number(),
      price: z.number().nullable(),
    }),
  ),
});
const market = summary.pick({
  ticker: true,
  nav: true,
  change24h: true,
  buyCostBps: true,
  group: true,
  risk: true,
});
const markets = z.strictObject({
  markets: z.array(market.strict()),
  prices: z.record(z.string(), z.number()),
  ...stamp,
});
const wallet = z.strictObject({
  address: addr,
  chainId: z.literal(4663),
  eth: z.number(),
  ethWei: wei,
  usdg: z.number(),
  usdgWei: wei,
  holdings: z.array(z.strictObject({ ticker: z.string(), sharesWei: wei })),
  tradeGasEth: z.number(),
  gasOk: z.boolean(),
  note: z.string().optional(),
});

function significantDigits(value: number): number {
  return value.toPrecision(17).replace(/e.*/, '').replace('.', '').replace(/^0+/, '').length;
}

describe('marks', () => {
  test('/v1/baskets lists all fifteen with texts, weights and marks', async () => {
    const { indexes, live } = baskets.parse((await api.get('/v1/baskets')).body);
    expect(live).toBe(true);
    expect(indexes.map(({ ticker }) => ticker)).toEqual(BASKETS.map(({ ticker }) => ticker));
    for (const row of indexes) {
      const total = Object.values(row.targetWeights).reduce((sum, weight) => sum + weight, 0);
      expect(total).toBeCloseTo(1, 6);
      expect(row.vault).toBe(fork.vault(row.ticker));
    }
    const byTicker = Object.fromEntries(indexes.map((row) => [row.ticker, row]));
    expect(byTicker.PREIPO?.nav).toBeNull();
    expect(byTicker.MAG7).toMatchObject({ risk: null, riskNote: null, mgmtFeeBps: 55 });
    expect(byTicker.CRYP).toMatchObject({ risk: 'high', riskNote: expect.any(String) });
  });

  test('/v1/baskets/{ticker} adds constituents that make up its nav', async () => {
    const answer = await api.get('/v1/baskets/MAG7');
    const body = detail.parse(answer.body);
    expect(body.constituents.map(({ symbol }) => symbol)).toContain('NVDA');
    expect(body.nav).toBeGreaterThan(50);
    expect((await api.get('/v1/indexes/mag7')).body.ticker).toBe('MAG7');
    expectError(await api.get('/v1/baskets/NONE'), 404, 'UNKNOWN_BASKET');
    const unpriced = detail.parse((await api.get('/v1/baskets/PREIPO')).body);
    expect(unpriced.constituents.find(({ symbol }) => symbol === 'SPCX')?.price).toBeNull();
  });

  test('/v1/markets carries marks and prices; fields and prices=0 trim them', async () => {
    const full = markets.parse((await api.get('/v1/markets')).body);
    expect(full.markets).toHaveLength(15);
    expect(full.prices.NVDA).toBeGreaterThan(10);
    expect(full.prices.SPCX).toBeUndefined();
    const { body } = await api.get('/v1/markets?fields=nav,ticker&prices=0');
    expect(Object.keys(body).sort()).toEqual(['asOfMs', 'live', 'markets']);
    expect(Object.keys((body.markets as unknown as object[])[0] ?? {})).toEqual(['ticker', 'nav']);
    expectError(await api.get('/v1/markets?fields=ticker,apy'), 400, 'BAD_REQUEST', /fields/);
    expectError(await api.get('/v1/markets?fields='), 400, 'BAD_REQUEST');
    expectError(await api.get('/v1/markets?prices=1'), 400, 'BAD_REQUEST', /prices/);
    expectError(await api.get('/v1/baskets?fields=apy'), 400, 'BAD_REQUEST');
    const some = await api.get('/v1/indexes?fields=ticker,thesis');
    expect(Object.keys((some.body.indexes as unknown as object[])[0] ?? {})).toEqual([
      'ticker',
      'thesis',
    ]);
  });

  test('buyCostBps is what a $1,000 buy costs beyond the mint fee', async () => {
    const row = async () => {
      const { body } = await api.get('/v1/baskets/MAG7');
      return body as unknown as { nav: number; buyCostBps: number | null };
    };
    await api.until('/v1/baskets/MAG7', ({ body }) => body.buyCostBps !== null);
    const { nav, buyCostBps } = await row();
    const plan = planOf(
      await api.post('/v1/tx/buy', {
        ticker: 'MAG7',
        amountUsdg: 1_002,
        address: fork.accounts.alice.account.address,
      }),
    );
    expect(buyCostBps).toBeCloseTo((1 - (plan.estShares * nav) / 1_000) * 10_000, 0);
    await api.until('/v1/baskets/FRESH', ({ body }) => body.buyCostBps !== null);
    expect((await api.get('/v1/baskets/PREIPO')).body.buyCostBps).toBeNull();
  });

  test('fractional numbers carry at most 8 significant digits', async () => {
    const { body } = await api.get('/v1/markets');
    for (const price of Object.values(body.prices as unknown as Record<string, number>)) {
      expect(significantDigits(Number(price.toPrecision(8)))).toBeLessThanOrEqual(17);
      expect(Number(price.toPrecision(8))).toBe(price);
    }
    expect(String(body.asOfMs)).toMatch(/^\d{13}$/);
  });

  test('a body is answered 304 to the client that has it, and pretty=1 is indented', async () => {
    const first = await api.get('/');
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"/);
    expect((await api.get('/', { 'if-none-match': etag })).status).toBe(304);
    const marks = await api.get('/v1/markets');
    expect(marks.headers.get('cache-control')).toBe('public, max-age=1');
    expect(marks.headers.get('etag')).toMatch(/^"/);
    expect((await api.get('/v1/markets?pretty=1')).text).toMatch(/\n {2}"/);
    expect(marks.text).not.toContain('\n');
  });
});

describe('GET /v1/wallet/{address}', () => {
  const alice = () => fork.accounts.alice.account.address;

  test('shows exact balances, own shares and whether gas suffices', async () => {
    const empty = wallet.parse((await api.get(`/v1/wallet/${alice()}`)).body);
    expect(empty).toMatchObject({ usdg: 100_000, usdgWei: '100000000000', holdings: [] });
    expect(empty.gasOk).toBe(true);
    expect(empty.tradeGasEth).toBeGreaterThan(0);
    const plan = planOf(
      await api.post('/v1/tx/buy', { ticker: 'CORE', amountUsdg: 100, address: alice() }),
    );
    const receipt = await sendPlan(fork, 'alice', plan);
    const after = wallet.parse((await api.get(`/v1/wallet/${alice()}`)).body);
    expect(after.holdings).toEqual([{ ticker: 'CORE', sharesWei: expect.any(String) }]);
    expect(BigInt(after.ethWei)).toBeLessThan(BigInt(empty.ethWei));
    // tradeGasEth covers what a trade really used, at twice the price.
    const used = Number(receipt.gasUsed * (await fork.client.getGasPrice())) / 1e18;
    expect(after.tradeGasEth).toBeGreaterThan(used);
  });

  test('an address without ETH is told so', async () => {
    const agent = fork.accounts.agent.account.address;
    const body = wallet.parse((await api.get(`/v1/wallet/${agent}`)).body);
    expect(body).toMatchObject({ gasOk: false, eth: 0, note: expect.any(String) });
  });

  test('a pasted private key is answered with a warning and never echoed', async () => {
    const secret = '9f'.repeat(32);
    for (const path of [`/v1/wallet/0x${secret}`, `/v1/orders/${secret}`]) {
      const answer = await api.get(path);
      expectError(answer, 400, 'BAD_REQUEST', /private key.*leaked/);
      expect(answer.text).not.toContain('9f9f');
    }
    const body = { ticker: 'CORE', amountUsdg: 100, address: `0x${secret}` };
    const answer = await api.post('/v1/tx/buy', body);
    expectError(answer, 400, 'BAD_REQUEST', /private key.*leaked/);
    expect(answer.text).not.toContain('9f9f');
  });

  test('anything but an address is refused', async () => {
    for (const address of ['0x12', 'alice.eth', `0x${'g'.repeat(40)}`]) {
      expectError(await api.get(`/v1/wallet/${address}`), 400, 'BAD_REQUEST');
    }
  });
});

describe('the edge', () => {
  test('the root document names chain, routes and documents', async () => {
    const { body, status } = await api.get('/');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      name: expect.any(String),
      version: 'v1',
      custody: 'none',
      chain: {
        name: expect.any(String),
        chainId: 4663,
        rpc: expect.stringMatching(/^http/),
        explorer: expect.stringMatching(/^http/),
        usdg: fork.deployment.usdg,
        gas: expect.any(String),
      },
      onboarding: expect.any(String),
      llms: '/llms.txt',
      openapi: '/openapi.json',
    });
    for (const endpoint of Object.values(body.endpoints as unknown as Record<string, string>)) {
      const [method, path] = endpoint.split(' ');
      const concrete = (path ?? '')
        .replace('{ticker}', 'CORE')
        .replace('{address}', fork.accounts.alice.account.address);
      const answer = method === 'GET' ? await api.get(concrete) : await api.post(concrete, {});
      expect({ endpoint, served: ![404, 405].includes(answer.status) }).toEqual({
        endpoint,
        served: true,
      });
    }
  });

  test('health, readiness and metrics', async () => {
    expect((await api.get('/health')).body).toEqual({ ok: true });
    const metrics = await api.get('/metrics');
    expect(metrics.text).toContain('basket_api_marks_age_seconds');
    expect(metrics.text).toContain('route="/v1/baskets/:ticker"');
    expect(metrics.text).not.toContain(fork.accounts.alice.account.address);
  });

  test('errors have one shape: unknown path, method, malformed and oversized bodies', async () => {
    expectError(await api.get('/v1/nothing'), 404, 'NOT_FOUND');
    const wrong = await api.get('/v1/tx/buy');
    expectError(wrong, 405, 'METHOD_NOT_ALLOWED');
    expect(wrong.headers.get('allow')).toBe('POST, OPTIONS');
    expectError(await api.post('/v1/markets', {}), 405, 'METHOD_NOT_ALLOWED');
    expectError(await api.post('/v1/tx/buy', '{"ticker":'), 400, 'BAD_REQUEST', /JSON/);
    expectError(await api.post('/v1/tx/buy', '[]'), 400, 'BAD_REQUEST', /object/);
    expectError(
      await api.post('/v1/tx/buy', JSON.stringify('x'.repeat(300_000))),
      413,
      'BAD_REQUEST',
    );
    const plain = await fetch(`${api.url}/v1/tx/buy`, {
      method: 'POST',
      body: 'ticker=MAG7',
      headers: { 'content-type': 'text/plain' },
    });
    expect(plain.status).toBe(415);
    expectError(
      await api.post('/v1/tx/buy', {
        ticker: 'NONE',
        amountUsdg: 5,
        address: fork.accounts.alice.account.address,
      }),
      400,
      'UNKNOWN_BASKET',
    );
    expectError(await api.get('/v1/baskets/%E0%A4%A'), 400, 'BAD_REQUEST');
  });

  test('browsers may read everything, refusals included', async () => {
    const preflight = await fetch(`${api.url}/v1/tx/buy`, {
      method: 'OPTIONS',
      headers: { origin: 'https://x.test', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(/content-type/i);
    for (const path of ['/v1/markets', '/v1/nothing', '/v1/wallet/0x1']) {
      expect((await api.get(path)).headers.get('access-control-allow-origin')).toBe('*');
    }
    const broken = await api.post('/v1/tx/buy', '{');
    expect(broken.headers.get('access-control-allow-origin')).toBe('*');
  });
});
