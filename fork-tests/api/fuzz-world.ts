/** What the fuzz finds on its chain: shares, orders open and closed, agents with a grant, with and without money. */
import { protocolPauseAbi } from '../../contracts-abi/generated/index.ts';
import { receiptOf } from '../chain/client.ts';
import type { Fork } from '../harness/fork.ts';
import { type Agent, openAgent } from '../relayer/agent.ts';
import { hold } from './cover-agent.ts';
import type { World } from './fuzz-requests.ts';
import { planOf, sendPlan } from './send-plan.ts';
import type { ApiUnderTest } from './use-api.ts';
import type { WireRequest } from './wire-request.ts';

/** A request that must be refused in one way, so that every code has been seen. */
export type Scene = { code: string; status: number; request: WireRequest };

export type FuzzWorld = World & {
  /** Refused on the chain as it is. */
  refused: Scene[];
  /** Refused while the protocol is paused. */
  paused: Scene[];
  /** Refused while no node answers. */
  cutOff: Scene[];
};

const USD = 1_000_000n;
const RANGE = { fromBps: 300, toBps: 1_000 };
const CANCEL = { action: 'cancel', listingId: '0' };
const JSON_HEADERS = { 'content-type': 'application/json' };

const post = (path: string, body: object): WireRequest => ({
  method: 'POST',
  path,
  headers: JSON_HEADERS,
  body: JSON.stringify(body),
});

export async function prepareWorld(fork: Fork, api: ApiUnderTest): Promise<FuzzWorld> {
  const alice = fork.accounts.alice.account.address;
  // Not the treasury, which has shares by management fees.
  const stranger = fork.accounts.dave.account.address;
  const core = { ticker: 'CORE', address: alice };
  await sendPlan(fork, 'alice', planOf(await api.post('/v1/tx/buy', { ...core, amountUsdg: 200 })));
  const limit = { ...core, amountUsdg: 20, triggerNav: 0.5 };
  for (let order = 0; order < 2; order += 1) {
    await sendPlan(fork, 'alice', planOf(await api.post('/v1/tx/limit', limit)));
  }
  const listed = await api.until(
    `/v1/orders/${alice}`,
    (answer) => idsOf(answer.body).length === 2,
  );
  const [open = '', closed = ''] = idsOf(listed.body);
  await sendPlan(
    fork,
    'alice',
    planOf(await api.post('/v1/tx/cancel', { orderId: closed, address: alice })),
  );
  await api.until(`/v1/orders/${alice}`, (answer) => idsOf(answer.body).length === 1);

  const rich = await openAgent(fork, 'bob', 1_000n * USD, {
    dailyLimit: 500n * USD,
    coverDailyLimit: 20n * USD,
  });
  await hold(fork, rich.account, 'CORE', 20n);
  const poor = await openAgent(fork, 'carol', 0n);
  const parties = (agent: Agent) => ({
    owner: fork.accounts[agent.owner].account.address,
    key: agent.key.address,
    ticker: 'CORE',
  });
  const trade = (body: object) => post('/v1/agent/trade', body);
  const cover = (body: object) =>
    post('/v1/agent/cover', { ...parties(rich), ...RANGE, coverUsd: 100, ...body });
  const missing = `0x${'12'.repeat(32)}`;
  return {
    tickers: mostly(
      'CORE',
      // PREIPO holds a token that does not trade: nearly all that one asks of it is refused.
      fork.deployment.baskets.map(({ ticker }) => ticker).filter((name) => name !== 'PREIPO'),
    ),
    vaults: [fork.vault('CORE'), fork.vault('MAG7')],
    addresses: [alice],
    orderIds: [open],
    owner: parties(rich).owner,
    key: parties(rich).key,
    refused: [
      scene('BAD_REQUEST', 413, post('/v1/tx/buy', { text: 'x'.repeat(5_000) })),
      scene('BAD_REQUEST', 415, {
        ...post('/v1/tx/buy', {}),
        headers: { 'content-type': 'text/plain' },
      }),
      scene('BAD_REQUEST', 400, post('/v1/tx/buy', {})),
      scene('UNKNOWN_BASKET', 404, { path: '/v1/baskets/NONE' }),
      scene('UNKNOWN_BASKET', 400, post('/v1/tx/buy', { ...core, ticker: 'NONE', amountUsdg: 5 })),
      scene('NOT_FOUND', 404, { path: '/v1/none' }),
      scene('NOT_FOUND', 404, post('/v1/tx/cancel', { orderId: missing })),
      scene('METHOD_NOT_ALLOWED', 405, { method: 'DELETE', path: '/v1/markets' }),
      scene('ORDER_NOT_OPEN', 409, post('/v1/tx/cancel', { orderId: closed })),
      scene('NO_ROUTE', 422, post('/v1/tx/buy', { ...core, ticker: 'PREIPO', amountUsdg: 50 })),
      scene(
        'NO_REFERENCE',
        422,
        post('/v1/tx/limit', { ...core, ticker: 'PREIPO', amountUsdg: 50 }),
      ),
      scene(
        'INSUFFICIENT_SHARES',
        400,
        post('/v1/tx/sell', { ...core, address: stranger, shares: '1000000000000000000' }),
      ),
      scene(
        'INSUFFICIENT_SHARES',
        422,
        trade({ ...parties(rich), side: 'sell', shares: '1000000000000000000000' }),
      ),
      scene(
        'SESSION_INACTIVE',
        403,
        trade({ ...parties(rich), key: stranger, side: 'buy', amountUsdg: 20 }),
      ),
      scene(
        'SESSION_LIMIT',
        403,
        trade({ ...parties(rich), side: 'buy', amountUsdg: 900, slippageBps: 300 }),
      ),
      scene(
        'INSUFFICIENT_FUNDS',
        422,
        trade({ ...parties(poor), side: 'buy', amountUsdg: 20, slippageBps: 300 }),
      ),
      scene('COVER_CLOSED', 422, { path: '/v1/cover/book/PREIPO' }),
      scene('COVER_CLOSED', 422, cover({ action: 'take', week: 1 })),
      scene('NOT_A_HOLDER', 422, cover({ action: 'take', ticker: 'ADS' })),
      scene('NO_COVER', 422, cover({ action: 'take', maxPricePer1k: 0.5 })),
      scene(
        'ORDER_NOT_OPEN',
        422,
        post('/v1/agent/cover', { ...parties(rich), ticker: undefined, ...CANCEL }),
      ),
    ],
    paused: [
      scene('PAUSED', 503, post('/v1/tx/buy', { ...core, amountUsdg: 20 })),
      scene('PAUSED', 503, trade({ ...parties(rich), side: 'buy', amountUsdg: 20 })),
      scene('PAUSED', 503, cover({ action: 'take' })),
    ],
    cutOff: [
      scene('UPSTREAM', 502, { path: '/v1/cover/weeks' }),
      scene('UPSTREAM', 502, cover({ action: 'take' })),
      scene('UPSTREAM', 502, { path: `/v1/wallet/${alice}` }),
      scene('UPSTREAM', 502, post('/v1/tx/buy', { ...core, amountUsdg: 20 })),
      scene('UPSTREAM', 502, { path: `/v1/agent/session?owner=${alice}&key=${alice}` }),
    ],
  };
}

/** The one of which alice holds shares, as often as all the others together. */
function mostly(ticker: string, tickers: readonly string[]): string[] {
  return [...tickers, ...tickers.map(() => ticker)];
}

function scene(code: string, status: number, request: WireRequest): Scene {
  return { code, status, request };
}

function idsOf(body: Record<string, unknown>): string[] {
  return ((body.orders ?? []) as { id: string }[]).map(({ id }) => id);
}

export async function pauseProtocol(fork: Fork): Promise<void> {
  const hash = await fork.userClient('guardian').writeContract({
    address: fork.deployment.pause,
    abi: protocolPauseAbi,
    functionName: 'pause',
    args: [],
  });
  await receiptOf(fork.client, hash, 20_000);
}
