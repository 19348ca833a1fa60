/** What the api does when its chain lags, refuses, reorganises or goes away (field cases 22, 37 to 39). */
import { rmSync } from 'node:fs';
import { encodeFunctionData, erc20Abi, type Hex, parseEventLogs } from 'viem';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { accountFactoryAbi, limitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { planOf, sendApproval, sendCall, sendPlan } from './send-plan.ts';
import { type ApiUnderTest, expectError, launchApi } from './use-api.ts';

const fork = useFork();
let proxy: Proxy;
let api: ApiUnderTest & { folder: string };

const alice = () => fork.accounts.alice.account.address;
const orders = () => `/v1/orders/${alice()}`;

async function launch(settings: Record<string, string> = {}): Promise<typeof api> {
  return await launchApi(proxy.url, fork.deployment, {
    MARKS_STALE_AFTER_MS: '3000',
    RPC_TIMEOUT_MS: '5000',
    ...settings,
  });
}

beforeEach(async () => {
  proxy = await startProxy(fork.url);
  api = await launch();
  await api.settled();
});
afterEach(async () => {
  await api.stop();
  rmSync(api.folder, { recursive: true, force: true });
  await proxy.stop();
});

async function placeLimit(amountUsdg = 20): Promise<void> {
  const body = { ticker: 'CORE', amountUsdg, address: alice(), triggerNav: 1 };
  await sendPlan(fork, 'alice', planOf(await api.post('/v1/tx/limit', body)));
}

/** Until the start is over: catalog, first marks, and each basket's cost but the one without a price. */
async function background(): Promise<void> {
  await api.until('/health', () => (proxy.counts().eth_call ?? 0) >= 3 + 1 + 14);
}

const countOf = (count: number) => (answer: { body: Record<string, unknown> }) =>
  (answer.body.orders as unknown[] | undefined)?.length === count;

describe('marks', () => {
  test('cost no RPC per request', async () => {
    await api.stop();
    proxy.resetCounts();
    api = await launch({
      MARKS_INTERVAL_MS: '60000',
      INDEX_INTERVAL_MS: '60000',
      COST_INTERVAL_MS: '3600000',
    });
    await background();
    proxy.resetCounts();
    for (let round = 0; round < 20; round += 1) {
      expect((await api.get('/v1/markets')).status).toBe(200);
      expect((await api.get('/v1/baskets/CORE')).status).toBe(200);
    }
    expect(proxy.requests()).toBeLessThanOrEqual(2);
  });

  test('of a block that stands are read once a second, however often the head is looked at', async () => {
    await api.stop();
    proxy.resetCounts();
    api = await launch({
      MARKS_INTERVAL_MS: '50',
      INDEX_INTERVAL_MS: '60000',
      COST_INTERVAL_MS: '3600000',
    });
    await background();
    await api.until('/v1/markets', ({ status }) => status === 200);
    proxy.resetCounts();
    const startedMs = Date.now();
    await api.until('/v1/markets', () => (proxy.counts().eth_getBlockByNumber ?? 0) >= 20);
    const reads = proxy.counts().eth_call ?? 0;
    // And what was on its way when the counting began.
    expect(reads).toBeLessThanOrEqual(4 + Math.floor((Date.now() - startedMs) / 1_000));
    // They are as of now all the same, on every route alike.
    let lastMs = startedMs;
    for (let round = 0; round < 20; round += 1) {
      const rounds = proxy.counts().eth_getBlockByNumber ?? 0;
      for (const path of ['/v1/stats', '/v1/markets', '/v1/baskets', '/v1/baskets/CORE']) {
        const { body } = await api.get(path);
        expect(Number(body.asOfMs)).toBeGreaterThanOrEqual(lastMs);
        lastMs = Number(body.asOfMs);
      }
      await api.until('/health', () => (proxy.counts().eth_getBlockByNumber ?? 0) > rounds);
    }
  });

  test('stay, and say that they are old, while the chain is out of reach; everything recovers', async () => {
    await placeLimit();
    await api.until(orders(), countOf(1));
    await proxy.pause();
    const dead = await api.until(
      '/v1/markets',
      ({ body }) => (body.live as unknown) === false && Date.now() - Number(body.asOfMs) > 3_000,
    );
    expect(dead.status).toBe(200);
    expect((dead.body.markets as unknown as unknown[]).length).toBe(15);
    const ready = await api.get('/ready');
    expect(ready.status).toBe(503);
    expect(ready.text).toMatch(/marks are \d+ s old/);
    const session = `/v1/agent/session?owner=${alice()}&key=${alice()}`;
    for (const path of [session, `/v1/wallet/${alice()}`, orders()]) {
      const answer = await api.get(path);
      expectError(answer, 502, 'UPSTREAM');
      expect(answer.body.retryable).toBe(true);
    }
    const buy = { ticker: 'CORE', amountUsdg: 20, address: alice() };
    expectError(await api.post('/v1/tx/buy', buy), 502, 'UPSTREAM');
    expect((await api.get('/health')).status).toBe(200);
    await proxy.resume();
    await fork.warp(1);
    await api.until('/v1/markets', ({ body }) => (body.live as unknown) === true);
    await api.until('/ready', ({ status }) => status === 200);
    await api.until(orders(), countOf(1));
  });

  test('who waits for jobs is told soon that the chain does not answer any more', async () => {
    const { body } = await api.get('/v1/jobs/changes');
    const waiting = api.get(`/v1/jobs/changes?unless=${String(body.tag)}&waitMs=30000`);
    proxy.on('eth_call', {}, { fault: 'hang' });
    proxy.on('eth_getBlockByNumber', {}, { fault: 'hang' });
    // Otherwise it would be told when its 30 seconds are over.
    const sinceMs = Date.now();
    expectError(await waiting, 502, 'UPSTREAM');
    expect(Date.now() - sinceMs).toBeLessThan(20_000);
  });

  test('a head that stands still is not live, whatever the socket answers', async () => {
    await api.until('/v1/markets', ({ body }) => (body.live as unknown) === false);
    expect((await api.get('/ready')).text).toMatch(/no new block for \d+ s/);
    // What can be executed is known all the same: the node answers.
    for (const path of ['/v1/jobs', '/v1/cover/payouts']) {
      expect((await api.get(path)).status).toBe(200);
      expect((await api.get(path)).status).toBe(200);
    }
    await fork.warp(1);
    await api.until('/v1/markets', ({ body }) => (body.live as unknown) === true);
  });

  test('the process starts before its chain does', async () => {
    await api.stop();
    await proxy.pause();
    const log: string[] = [];
    const settings = { LOG_LEVEL: 'trace', FOLDER: api.folder };
    // As providers give it: with the operator's key in the URL.
    api = await launchApi(
      `${proxy.url}/v2/SECRETKEY123?apikey=TOPSECRET`,
      fork.deployment,
      settings,
      {
        write: (line) => void log.push(line),
      },
    );
    expectError(await api.get('/v1/markets'), 502, 'UPSTREAM');
    const ready = await api.until('/ready', ({ text }) =>
      /no marks yet: no answer from RPC_URLS \([^)]+\): HTTP request failed\."/.test(text),
    );
    expect(ready.text).toContain("the chain's head has not been read yet");
    await expect.poll(() => log.join('')).toContain('background work failed');
    expect(ready.text + log.join('')).not.toMatch(/SECRETKEY123|TOPSECRET|eth_/);
    await proxy.resume();
    await api.until('/ready', ({ status }) => status === 200);
    expect((await api.get('/v1/markets')).status).toBe(200);
  });
});

describe('builds', () => {
  test('cost at most two round trips, one aggregated read and one dry run', async () => {
    await api.stop();
    proxy.resetCounts();
    api = await launch({
      MARKS_INTERVAL_MS: '60000',
      INDEX_INTERVAL_MS: '60000',
      COST_INTERVAL_MS: '3600000',
    });
    await background();
    const body = { ticker: 'CRYP', amountUsdg: 20, address: alice() };
    await sendApproval(fork, 'alice', planOf(await api.post('/v1/tx/buy', body)));
    proxy.resetCounts();
    const plan = planOf(await api.post('/v1/tx/buy', body));
    expect(plan.simulation.ok).toBe(true);
    expect(proxy.counts()).toEqual({ eth_call: 2, eth_estimateGas: 1 });
    await sendPlan(fork, 'alice', plan);
    const sale = { ticker: 'CRYP', shares: 'max', address: alice() };
    await sendApproval(fork, 'alice', planOf(await api.post('/v1/tx/sell', sale)));
    proxy.resetCounts();
    expect(planOf(await api.post('/v1/tx/sell', sale)).simulation.ok).toBe(true);
    expect(proxy.counts()).toEqual({ eth_call: 2, eth_estimateGas: 1 });
  });

  test('a dry run that cannot be made is skipped, not failed', async () => {
    const body = { ticker: 'CORE', amountUsdg: 20, address: alice() };
    await sendApproval(fork, 'alice', planOf(await api.post('/v1/tx/buy', body)));
    proxy.on(
      'eth_call',
      { where: ([call]) => isTo(call, fork.deployment.zapper) },
      { fault: 'http', status: 500 },
    );
    const plan = planOf(await api.post('/v1/tx/buy', body));
    expect(plan.simulation).toEqual({ ok: null, skipped: expect.stringMatching(/chain/) });
  });
});

function isTo(call: unknown, address: string): boolean {
  const to = (call as { to?: string } | undefined)?.to ?? '';
  return to.toLowerCase() === address.toLowerCase();
}

describe('a replica that answers from three blocks ago (37)', () => {
  test('causes no refusal that the newest block would not', async () => {
    const wanted = { ticker: 'CORE', amountUsdg: 20, address: alice() };
    await sendPlan(fork, 'alice', planOf(await api.post('/v1/tx/buy', wanted)));
    // Only reads by number see what was just mined.
    proxy.on('eth_call', {}, { fault: 'stale', blocks: 3 });
    const head = await fork.client.getBlockNumber();
    await api.until('/metrics', ({ text }) => text.includes(`basket_api_head_block ${head}`));
    const sale = { ticker: 'CORE', address: alice(), shares: '10000000000000000' };
    planOf(await api.post('/v1/tx/sell', sale));
    planOf(await api.post('/v1/tx/sell', { ...sale, shares: 'max' }));
    const shares = '100000000000000000';
    planOf(await api.post('/v1/tx/exit', { ...sale, shares, stopNav: 1 }));
    expectError(
      await api.post('/v1/tx/sell', { ...sale, ticker: 'AIX' }),
      400,
      'INSUFFICIENT_SHARES',
    );
  });

  test('does not hide an order that was just placed from who takes it back', async () => {
    // The index does not know it yet either.
    proxy.on('eth_getLogs', {}, { fault: 'result', result: [] });
    const body = { ticker: 'CORE', amountUsdg: 20, address: alice(), triggerNav: 1 };
    const { logs } = await sendPlan(fork, 'alice', planOf(await api.post('/v1/tx/limit', body)));
    const [created] = parseEventLogs({ abi: limitEscrowAbi, eventName: 'LimitCreated', logs });
    const stale = proxy.on('eth_call', {}, { fault: 'stale', blocks: 3 });
    const wanted = { orderId: created?.args.id, escrow: fork.deployment.limitEscrow };
    const { tx } = planOf(await api.post('/v1/tx/cancel', wanted));
    expect(tx.to).toBe(fork.deployment.limitEscrow);
    expect(planOf(await api.post('/v1/tx/cancel', { orderId: wanted.orderId })).tx).toEqual(tx);
    expect(stale.hits).toBeGreaterThan(0);
    const unknown = { orderId: `0x${'12'.repeat(32)}` };
    expectError(await api.post('/v1/tx/cancel', unknown), 404, 'NOT_FOUND');
  });

  test('does not call dollars missing that came with the newest block', async () => {
    const { accountFactory, usdg } = fork.deployment;
    const key = fork.accounts.agent.account.address;
    const grant = {
      key,
      validUntil: (await fork.now()) + 86_400,
      maxSlippageBps: 100,
      coverEnabled: false,
      dailyLimit: 500_000_000n,
      coverDailyLimit: 0n,
    };
    const opening = {
      abi: accountFactoryAbi,
      functionName: 'openAndGrant',
      args: [grant],
    } as const;
    await sendCall(fork, 'alice', accountFactory, encodeFunctionData(opening));
    const account = await fork.client.readContract({
      address: accountFactory,
      abi: accountFactoryAbi,
      functionName: 'accountOf',
      args: [alice()],
    });
    await fork.client.mine({ blocks: 3 });
    const seen = async () => {
      const head = await fork.client.getBlockNumber();
      await api.until('/metrics', ({ text }) => text.includes(`basket_api_head_block ${head}`));
    };
    await seen();
    const wanted = { owner: alice(), key, ticker: 'CORE', side: 'buy', amountUsdg: 20 };
    expectError(await api.post('/v1/agent/trade', wanted), 422, 'INSUFFICIENT_FUNDS');
    const args = [account, 50_000_000n] as const;
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args });
    await sendCall(fork, 'alice', usdg, data);
    const stale = proxy.on('eth_call', {}, { fault: 'stale', blocks: 3 });
    await seen();
    expect((await api.post('/v1/agent/trade', wanted)).status).toBe(200);
    expect(stale.hits).toBeGreaterThan(0);
    const more = { ...wanted, amountUsdg: 60 };
    expectError(await api.post('/v1/agent/trade', more), 422, 'INSUFFICIENT_FUNDS');
  });

  test('refuses nothing at all where no node has the newest block', async () => {
    const head = await fork.client.getBlockNumber();
    await api.until('/metrics', ({ text }) => text.includes(`basket_api_head_block ${head}`));
    proxy.on(
      'eth_call',
      { where: ([, block]) => block !== 'latest' },
      { fault: 'error', code: -32_000, message: 'header not found', forwarded: false },
    );
    const sale = { ticker: 'AIX', address: alice(), shares: '100000000000000000' };
    expectError(await api.post('/v1/tx/sell', sale), 502, 'UPSTREAM');
  });
});

describe('the order index', () => {
  test('no order vanishes while a replica answers from blocks ago (37)', async () => {
    await placeLimit();
    await api.until(orders(), countOf(1));
    const stale = proxy.on('eth_call', {}, { fault: 'stale', blocks: 3 });
    const head = proxy.on('eth_getBlockByNumber', {}, { fault: 'stale', blocks: 3 });
    // Several rounds of the index, each of which is told of a head from before the order.
    const told = (): number => Math.min(stale.hits, head.hits);
    for (const most = told() + 5; told() < most; ) {
      expect(countOf(1)(await api.get(orders()))).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    stale.remove();
    head.remove();
    await api.until(orders(), countOf(1));
  });

  test('a log that a lagging node hid is found when its blocks are read again', async () => {
    const hidden = proxy.on('eth_getLogs', {}, { fault: 'result', result: [] });
    await placeLimit();
    await fork.warp(2);
    await api.until('/ready', () => hidden.hits > 4);
    expect(countOf(0)(await api.get(orders()))).toBe(true);
    hidden.remove();
    await fork.warp(1);
    await api.until(orders(), countOf(1));
  });

  test('after a reorg of five blocks the rows are those of a fresh sync (38)', async () => {
    await placeLimit(11);
    await fork.warp(5);
    await api.until(orders(), countOf(1));
    const rowsIn = (text: string): string => JSON.stringify(JSON.parse(text).orders);
    const kept = rowsIn((await api.get(orders())).text);
    const snapshot = await fork.client.snapshot();
    await placeLimit(12);
    const [, doomed] = (await api.until(orders(), countOf(2))).body.orders as unknown as {
      id: Hex;
    }[];
    const [first] = JSON.parse(kept) as { id: Hex; escrow: Hex }[];
    const cancel = planOf(
      await api.post('/v1/tx/cancel', { orderId: first?.id, address: alice() }),
    );
    await sendPlan(fork, 'alice', cancel);
    await api.until(orders(), countOf(1));
    // Another history from the same point, longer than the first: neither the second order nor the cancel happened.
    await fork.client.revert({ id: snapshot });
    const nothing = encodeFunctionData({
      abi: erc20Abi,
      functionName: 'approve',
      args: [alice(), 0n],
    });
    for (let block = 0; block < 8; block += 1) {
      await sendCall(fork, 'bob', fork.deployment.usdg, nothing);
    }
    await api.until(orders(), ({ text }) => rowsIn(text) === kept);
    expectError(await api.post('/v1/tx/cancel', { orderId: doomed?.id }), 404, 'NOT_FOUND');

    const fresh = await launch();
    await fresh.until(orders(), ({ text }) => rowsIn(text) === kept);
    await fresh.stop();
    rmSync(fresh.folder, { recursive: true, force: true });
  });

  test('a head that went back below the index is told, and is not live', async () => {
    const snapshot = await fork.client.snapshot();
    // Read in one step: of the blocks between the index keeps no hash by which it could tell the chain that comes next.
    await proxy.pause();
    await fork.client.mine({ blocks: 120 });
    await proxy.resume();
    const far = Number(await fork.client.getBlockNumber({ cacheTime: 0 }));
    // Ready is also who read the head before this one a moment ago.
    await api.until('/v1/cover/book/MAG7', ({ body }) => body.asOfBlock === far);
    await fork.client.revert({ id: snapshot });
    // The marks are of the new head and live; the totals are of blocks that are gone.
    const live = async (): Promise<unknown[]> => {
      await fork.warp(1);
      const [stats, markets] = await Promise.all([api.get('/v1/stats'), api.get('/v1/markets')]);
      return [stats.body.live, markets.body.live];
    };
    await expect.poll(live, { timeout: 15_000, interval: 50 }).toEqual([false, true]);
    expect((await api.get('/ready')).text).toMatch(/head \(\d+\) is behind the index \(\d+\)/);

    await api.stop();
    const log: string[] = [];
    api = await launchApi(
      proxy.url,
      fork.deployment,
      { FOLDER: api.folder, LOG_LEVEL: 'warn' },
      { write: (line) => void log.push(line) },
    );
    const behind = /head \(\d+\) is behind the index \(\d+\)/;
    await api.until('/ready', ({ text }) => behind.test(text));
    expect(log.join('')).toMatch(behind);
    expectError(await api.get(`/v1/positions/${alice()}`), 502, 'UPSTREAM');
    await fork.client.mine({ blocks: 200 });
    await api.until('/ready', ({ status }) => status === 200);
  });

  test('an end that a head below the index has undone refuses no cancel', async () => {
    await placeLimit();
    const { body } = await api.until(orders(), countOf(1));
    const [order] = body.orders as unknown as { id: Hex }[];
    const cancel = { orderId: order?.id, address: alice() };
    const snapshot = await fork.client.snapshot();
    await sendPlan(fork, 'alice', planOf(await api.post('/v1/tx/cancel', cancel)));
    await fork.client.mine({ blocks: 5 });
    await api.settled();
    expectError(await api.post('/v1/tx/cancel', cancel), 409, 'ORDER_NOT_OPEN', /cancelled/);
    await fork.client.revert({ id: snapshot });
    const statuses = new Set<number>();
    const built = async (): Promise<number> => {
      const { status } = await api.post('/v1/tx/cancel', cancel);
      statuses.add(status);
      return status;
    };
    await expect.poll(built, { timeout: 15_000, interval: 50 }).toBe(200);
    await api.until('/ready', ({ text }) => /head \(\d+\) is behind the index/.test(text));
    expect(planOf(await api.post('/v1/tx/cancel', cancel)).simulation.ok).toBe(true);
    expect([...statuses].filter((status) => status !== 502)).toEqual([200]);
  });

  test('completes where getLogs takes ten blocks, then too many results, then a time-out (39)', async () => {
    await placeLimit(11);
    await placeLimit(12);
    await api.until(orders(), countOf(2));
    await api.stop();
    rmSync(api.folder, { recursive: true, force: true });
    const wide = (params: unknown[]) => {
      const { fromBlock, toBlock } = params[0] as { fromBlock: Hex; toBlock: Hex };
      return BigInt(toBlock) - BigInt(fromBlock) >= 10n;
    };
    const refused = proxy.on(
      'eth_getLogs',
      { where: wide },
      { fault: 'error', code: -32_602, message: 'block range too wide', forwarded: false },
    );
    const full = proxy.on(
      'eth_getLogs',
      { where: (params) => !wide(params), times: 2 },
      {
        fault: 'error',
        code: -32_005,
        message: 'query returned more than 10000 results',
        forwarded: false,
      },
    );
    const slow = proxy.on('eth_getLogs', { nth: 8 }, { fault: 'hang' });
    api = await launch({ RPC_TIMEOUT_MS: '500' });
    await api.until(orders(), countOf(2), 60_000);
    expect(refused.hits).toBeGreaterThan(1);
    expect(full.hits).toBe(2);
    expect(slow.hits).toBe(1);
  });

  test('goes on where it stopped, and drops rows of another deployment', async () => {
    await placeLimit();
    await api.until(orders(), countOf(1));
    await api.stop();
    proxy.resetCounts();
    const restarted = await launch({ FOLDER: api.folder });
    await restarted.until(orders(), countOf(1));
    expect(proxy.counts().eth_getLogs ?? 0).toBeLessThan(5);
    await restarted.stop();

    const other = { ...fork.deployment, exitEscrow: fork.deployment.zapper };
    const elsewhere = await launchApi(
      proxy.url,
      { ...other, limitEscrow: fork.deployment.oracle },
      { FOLDER: api.folder },
    );
    await elsewhere.until(orders(), countOf(0));
    await elsewhere.stop();
    api = await launch({ FOLDER: api.folder });
    await api.until(orders(), countOf(1));
  });
});
