/** Requests that the documents refuse, each with the status and code that they name. */
import { encodeFunctionData, type Hex } from 'viem';
import { protocolPauseAbi } from '../../contracts-abi/generated/index.ts';
import type { Life } from './scenario.ts';
import type { ErrorCode } from './strict/errors.ts';
import type { Request } from './strict/routes.ts';

export type Refusal = {
  request: Request;
  headers?: Record<string, string>;
  status: number;
  code: ErrorCode;
};

const get = (path: string, status: number, code: ErrorCode): Refusal => ({
  request: { method: 'GET', path },
  status,
  code,
});
const post = (path: string, body: unknown, status: number, code: ErrorCode): Refusal => ({
  request: { method: 'POST', path, body },
  status,
  code,
});

/** What is wrong in itself, whatever the chain holds. */
export function wrongRequests(life: Life): Refusal[] {
  const address = life.address('carol');
  const wallet = { ticker: 'CORE', address };
  const exit = { ...wallet, shares: '1000000000000000000', stopNav: 1 };
  const agent = { owner: address, key: address, ticker: 'CORE' };
  const session = `/v1/agent/session?owner=${address}`;
  const vault = life.fork.vault('CORE');
  return [
    get('/v1/nothing', 404, 'NOT_FOUND'),
    get('/v1/tx/buy', 405, 'METHOD_NOT_ALLOWED'),
    post('/v1/markets', {}, 405, 'METHOD_NOT_ALLOWED'),
    get('/v1/markets?fields=ticker,apy', 400, 'BAD_REQUEST'),
    get('/v1/markets?prices=1', 400, 'BAD_REQUEST'),
    get('/v1/baskets?fields=apy', 400, 'BAD_REQUEST'),
    get('/v1/baskets/NONE', 404, 'UNKNOWN_BASKET'),
    get('/v1/indexes/NONE', 404, 'UNKNOWN_BASKET'),
    get('/v1/wallet/alice', 400, 'BAD_REQUEST'),
    get(`/v1/wallet/0x${'5e'.repeat(32)}`, 400, 'BAD_REQUEST'),
    get('/v1/orders/0x12', 400, 'BAD_REQUEST'),
    get('/v1/jobs?executor=me', 400, 'BAD_REQUEST'),
    get('/v1/jobs/changes?waitMs=soon', 400, 'BAD_REQUEST'),
    get('/v1/positions/0x12', 400, 'BAD_REQUEST'),
    get('/v1/strategies/alice', 400, 'BAD_REQUEST'),
    get('/v1/nav/NONE/history', 404, 'UNKNOWN_BASKET'),
    get('/v1/nav/CORE/history?res=5m', 400, 'BAD_REQUEST'),
    get('/v1/nav/CORE/history?days=0', 400, 'BAD_REQUEST'),
    get('/v1/nav/CORE/history?days=366', 400, 'BAD_REQUEST'),
    get('/v1/nav/CORE/history?format=svg', 400, 'BAD_REQUEST'),
    // More than 10,000 candles.
    get('/v1/nav/CORE/history?res=1m&days=7', 400, 'BAD_REQUEST'),
    get(`/v1/leverage/sell-routes?vault=${vault}`, 400, 'BAD_REQUEST'),
    get(`/v1/leverage/sell-routes?vault=${address}&shares=1`, 400, 'BAD_REQUEST'),
    get(`/v1/leverage/sell-routes?vault=${vault}&shares=1${'0'.repeat(40)}`, 400, 'BAD_REQUEST'),
    get(session, 400, 'BAD_REQUEST'),
    get(`${session}&key=0x12`, 400, 'BAD_REQUEST'),
    get(`${session}&key=${address}&chain=1`, 400, 'BAD_REQUEST'),
    post('/v1/tx/buy', '{"ticker":', 400, 'BAD_REQUEST'),
    post('/v1/tx/buy', JSON.stringify('x'.repeat(400_000)), 413, 'BAD_REQUEST'),
    { ...post('/v1/tx/buy', 'x=1', 415, 'BAD_REQUEST'), headers: { 'content-type': 'text/plain' } },
    post('/v1/tx/buy', { ...wallet, amountUsdg: '5' }, 400, 'BAD_REQUEST'),
    post('/v1/tx/buy', { ...wallet, amountUsdg: 5, slippageBps: 1_001 }, 400, 'BAD_REQUEST'),
    post('/v1/tx/buy', { ...wallet, ticker: 'NONE', amountUsdg: 5 }, 400, 'UNKNOWN_BASKET'),
    post('/v1/tx/buy', { ...wallet, ticker: 'PREIPO', amountUsdg: 50 }, 422, 'NO_ROUTE'),
    post('/v1/tx/sell', { ...wallet, shares: '1e18' }, 400, 'BAD_REQUEST'),
    post('/v1/tx/sell', { ...wallet, shares: '1', fraction: 0.5 }, 400, 'BAD_REQUEST'),
    post('/v1/tx/sell', { ...wallet, shares: exit.shares }, 400, 'INSUFFICIENT_SHARES'),
    post('/v1/tx/sell', { ...wallet, shares: 'max' }, 400, 'INSUFFICIENT_SHARES'),
    post('/v1/tx/exit', { ...exit, stopNav: 5, tpNav: 5 }, 400, 'BAD_REQUEST'),
    post('/v1/tx/exit', { ...exit, expiryDays: 91 }, 400, 'BAD_REQUEST'),
    post('/v1/tx/exit', exit, 400, 'INSUFFICIENT_SHARES'),
    post('/v1/tx/exit', { ...exit, ticker: 'FRESH' }, 422, 'NO_REFERENCE'),
    post('/v1/tx/limit', { ...wallet, amountUsdg: 50, expiryDays: 0 }, 400, 'BAD_REQUEST'),
    post('/v1/tx/limit', { ...wallet, ticker: 'FRESH', amountUsdg: 50 }, 422, 'NO_REFERENCE'),
    post('/v1/tx/redeem', { ...wallet, shares: '1', mode: 'usdg' }, 400, 'BAD_REQUEST'),
    post('/v1/tx/cancel', { orderId: `0x${'12'.repeat(32)}` }, 404, 'NOT_FOUND'),
    post('/v1/tx/cancel', { orderId: `0x${'12'.repeat(32)}`, escrow: vault }, 400, 'BAD_REQUEST'),
    post('/v1/agent/trade', { ...agent, side: 'buy' }, 400, 'BAD_REQUEST'),
    post('/v1/agent/trade', { ...agent, side: 'buy', amountUsdg: 20, x: 1 }, 400, 'BAD_REQUEST'),
    post('/v1/agent/trade', { ...agent, side: 'sell', shares: 'max' }, 400, 'BAD_REQUEST'),
    post(
      '/v1/agent/trade',
      { ...agent, ticker: 'NONE', side: 'buy', amountUsdg: 20 },
      400,
      'UNKNOWN_BASKET',
    ),
    ...wrongCover(address),
  ];
}

/** Of the cover routes alone. */
function wrongCover(address: Hex): Refusal[] {
  const book = (query: string) => get(`/v1/cover/book/MAG7?${query}`, 400, 'BAD_REQUEST');
  const range = { ticker: 'MAG7', fromBps: 300, toBps: 1_000, coverUsd: 100 };
  const cover = (body: object, code: ErrorCode = 'BAD_REQUEST') =>
    post('/v1/agent/cover', { owner: address, key: address, ...body }, 400, code);
  return [
    get('/v1/cover/book/NONE', 404, 'UNKNOWN_BASKET'),
    get('/v1/cover/book/CHIP', 422, 'COVER_CLOSED'),
    get('/v1/cover/book/MAG7?week=1', 422, 'COVER_CLOSED'),
    get('/v1/cover/positions/0x12', 400, 'BAD_REQUEST'),
    get(`/v1/cover/positions/0x${'5e'.repeat(32)}`, 400, 'BAD_REQUEST'),
    ...['week=next', 'coverUsd=0.5', 'coverUsd=0', 'account=0x12', 'fromBps=3001'].map(book),
    // Off the grid.
    ...['fromBps=310&toBps=1000', 'fromBps=300&toBps=350', 'fromBps=500&toBps=300'].map(book),
    cover({ action: 'offer', ...range, pricePer1k: 10 }),
    cover({ action: 'take', ...range, ticker: 'NONE' }, 'UNKNOWN_BASKET'),
    cover({ action: 'take', ...range, pricePer1k: 10 }),
    cover({ action: 'take', ...range, fromBps: 310 }),
    cover({ action: 'take', ...range, coverUsd: 100.5 }),
    cover({ action: 'take', ...range, surprise: 1 }),
    cover({ action: 'request', ...range }),
    cover({ action: 'request', ...range, pricePer1k: 30.01 }),
    cover({ action: 'request', ...range, pricePer1k: 10.005 }),
    cover({ action: 'request', ...range, pricePer1k: 10, allowPartial: true }),
    cover({ action: 'cancel' }),
    cover({ action: 'cancel', listingId: '1', feeUsdg: '1' }),
    cover({ action: 'cancel', listingId: '1', ticker: 'MAG7' }),
  ];
}

/** What the session of bob's agent may not do; the account has a grant of 100 bps and about $60. */
export function sessionRefusals(life: Life): Refusal[] {
  const agent = { owner: life.address('bob'), key: life.address('agent'), ticker: 'CORE' };
  const buy = { ...agent, side: 'buy', amountUsdg: 20, slippageBps: 100 };
  const sell = { ...agent, side: 'sell', shares: (10n ** 24n).toString() };
  const trade = (body: object, status: number, code: ErrorCode) =>
    post('/v1/agent/trade', body, status, code);
  return [
    trade({ ...buy, key: life.address('carol') }, 403, 'SESSION_INACTIVE'),
    trade({ ...buy, slippageBps: 101 }, 403, 'SESSION_LIMIT'),
    trade({ ...buy, amountUsdg: 5_000 }, 403, 'SESSION_LIMIT'),
    trade({ ...buy, amountUsdg: 300 }, 422, 'INSUFFICIENT_FUNDS'),
    trade({ ...buy, feeUsdg: '10000001' }, 400, 'BAD_REQUEST'),
    trade({ ...buy, ticker: 'FRESH' }, 422, 'NO_REFERENCE'),
    trade(sell, 422, 'INSUFFICIENT_SHARES'),
    ...coverRefusals(life),
  ];
}

/** Its account holds MAG7, and has locked all but some $5 of the $10 of cover a day. */
function coverRefusals(life: Life): Refusal[] {
  const parties = { owner: life.address('bob'), key: life.address('agent') };
  const take = { action: 'take', ticker: 'MAG7', fromBps: 300, toBps: 1_000, coverUsd: 100 };
  const request = { ...take, action: 'request', pricePer1k: 30 };
  const cover = (body: object, status: number, code: ErrorCode) =>
    post('/v1/agent/cover', { ...parties, ...body }, status, code);
  return [
    cover({ ...take, key: life.address('carol') }, 403, 'SESSION_INACTIVE'),
    cover({ ...request, coverUsd: 1_000 }, 403, 'SESSION_LIMIT'),
    cover({ ...take, feeUsdg: '10000001' }, 400, 'BAD_REQUEST'),
    cover({ ...take, ticker: 'ADS' }, 422, 'NOT_A_HOLDER'),
    cover({ ...take, ticker: 'CHIP' }, 422, 'COVER_CLOSED'),
    cover({ ...take, week: 1 }, 422, 'COVER_CLOSED'),
    cover({ ...take, maxPricePer1k: 0.01 }, 422, 'NO_COVER'),
    cover({ ...take, coverUsd: 100_000 }, 422, 'NO_COVER'),
    cover({ action: 'cancel', listingId: '0' }, 422, 'ORDER_NOT_OPEN'),
  ];
}

/** The guardian pauses the protocol: agents are told to come back later. */
export async function pausedRefusals(life: Life): Promise<Refusal[]> {
  const pause: Hex = encodeFunctionData({ abi: protocolPauseAbi, functionName: 'pause' });
  await life.send('guardian', { to: life.fork.deployment.pause, data: pause });
  const [owner, key] = [life.address('bob'), life.address('agent')];
  const buy = { owner, key, ticker: 'CORE', side: 'buy', amountUsdg: 20, slippageBps: 100 };
  const range = { ticker: 'MAG7', fromBps: 300, toBps: 1_000, coverUsd: 100 };
  const take = { owner, key, action: 'take', ...range };
  return [
    post('/v1/agent/trade', buy, 503, 'PAUSED'),
    post('/v1/agent/cover', take, 503, 'PAUSED'),
  ];
}

/** With the chain out of reach, where the documents ask for a 502 rather than for stale figures. */
export function unreachableRefusals(life: Life): Refusal[] {
  const [owner, key] = [life.address('bob'), life.address('agent')];
  const wallet = { ticker: 'CORE', address: owner };
  return [
    get(`/v1/agent/session?owner=${owner}&key=${key}`, 502, 'UPSTREAM'),
    get('/v1/cover/weeks', 502, 'UPSTREAM'),
    get('/v1/cover/book/MAG7', 502, 'UPSTREAM'),
    post('/v1/agent/cover', { owner, key, action: 'cancel', listingId: '1' }, 502, 'UPSTREAM'),
    post('/v1/tx/buy', { ...wallet, amountUsdg: 50 }, 502, 'UPSTREAM'),
  ];
}
