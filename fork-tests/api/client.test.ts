/** The typed client against a running api: every kind of call, and refusals as they are thrown. */
import { describe, expect, test } from 'vitest';
import { ApiClientError, createApiClient } from '../../api/client/index.ts';
import { useFork } from '../harness/fork.ts';
import { useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork, { per: 'file' });

const client = () => createApiClient({ baseUrl: api.url });
const alice = () => fork.accounts.alice.account.address;

async function refusal(call: Promise<unknown>): Promise<ApiClientError> {
  const error: unknown = await call.then(
    () => 'answered',
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiClientError);
  return error as ApiClientError;
}

describe('the typed client', () => {
  test('reads', async () => {
    expect(await client().health()).toEqual({ ok: true });
    const { markets, prices } = await client().markets({ fields: 'ticker,nav', prices: '0' });
    expect(markets).toHaveLength(15);
    expect(prices).toBeUndefined();
    expect((await client().baskets()).indexes[0]?.name).toBeTypeOf('string');
    const { constituents } = await client().basket({ ticker: 'CORE' });
    expect(constituents.length).toBeGreaterThan(1);
    const { usdg, holdings } = await client().wallet({ address: alice() });
    expect({ usdg, holdings }).toEqual({ usdg: 100_000, holdings: [] });
    expect((await client().root()).endpoints.buildBuy).toBe('POST /v1/tx/buy');
    expect(await client().llms()).toMatch(/\n/);
    const { active, account } = await client().agentSession({ owner: alice(), key: alice() });
    expect(active).toBe(false);
    expect(account).toMatch(/^0x/);
  });

  test('builds', async () => {
    const request = { ticker: 'CORE', amountUsdg: 25.5, address: alice() };
    const { amountInUsdg, tx, simulation } = await client().buildBuy(request);
    expect(amountInUsdg).toBe('25500000');
    expect(tx.to).toBe(fork.deployment.zapper);
    expect(simulation.ok).toBeNull();
    const limit = await client().buildLimit({ ...request, triggerNav: 1, simulate: false });
    expect(limit.note).toMatch(/USDG/);
  });

  test('throws refusals with status, code and the name of the request', async () => {
    const unknown = await refusal(client().basket({ ticker: 'NONE' }));
    expect(unknown).toMatchObject({ status: 404, code: 'UNKNOWN_BASKET', retryable: false });
    expect(unknown.requestId).toMatch(/^[\w-]+$/);
    const sale = { ticker: 'CORE', shares: 'max', address: alice() } as const;
    expect(await refusal(client().buildSell(sale))).toMatchObject({
      status: 400,
      code: 'INSUFFICIENT_SHARES',
    });
    const trade = { owner: alice(), key: alice(), ticker: 'CORE', side: 'buy', amountUsdg: 20 };
    expect(await refusal(client().agentTrade({ ...trade, side: 'buy' }))).toMatchObject({
      status: 403,
      code: 'SESSION_INACTIVE',
    });
  });
});
