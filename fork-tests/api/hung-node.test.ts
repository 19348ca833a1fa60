/** A node that takes requests and answers none: frozen, its sockets open. The RPC's own timeout lies past this test's. */
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { within } from '../../runtime/deadline.ts';
import { rpc } from '../anvil.ts';
import { useFork } from '../harness/fork.ts';
import { legacyClient } from './mcp-client.ts';
import { expectError, expectOk, launchApi } from './use-api.ts';

const fork = useFork();

/** Once this returns, the node answers nothing: a signal takes effect a moment after it was sent. */
async function freezeNode(): Promise<void> {
  process.kill(fork.anvil.pid, 'SIGSTOP');
  for (;;) {
    try {
      await within(rpc(fork.url, 'eth_chainId'), 300, 'the answer of a frozen node');
    } catch {
      return;
    }
  }
}

const thawNode = (): boolean => process.kill(fork.anvil.pid, 'SIGCONT');

test('reads of a frozen node answer long before its timeout: old marks that say so, 502 for the rest', async () => {
  const api = await launchApi(fork.url, fork.deployment, {
    RPC_TIMEOUT_MS: '120000',
    MARKS_STALE_AFTER_MS: '3600000',
    READ_BUDGET_MS: '1000',
  });
  try {
    await api.settled();
    const alice = fork.accounts.alice.account.address;
    const before = (await api.get('/v1/markets')).body;
    const scans = ['/v1/jobs', '/v1/cover/payouts'];
    for (const path of scans) expectOk(await api.get(path));
    await freezeNode();
    const marks = await api.until('/v1/markets', ({ body }) => (body.live as unknown) === false);
    expect(marks.status).toBe(200);
    expect(marks.body.markets).toHaveLength((before.markets as unknown as unknown[]).length);
    expect(Number(marks.body.asOfMs)).toBeGreaterThanOrEqual(Number(before.asOfMs));
    const stats = await api.get('/v1/stats');
    expect({ status: stats.status, live: stats.body.live }).toEqual({ status: 200, live: false });
    const session = `/v1/agent/session?owner=${alice}&key=${alice}`;
    const paths = [session, ...['wallet', 'positions'].map((route) => `/v1/${route}/${alice}`)];
    for (const answer of await Promise.all(paths.map((path) => api.get(path)))) {
      expectError(answer, 502, 'UPSTREAM', /in time/);
      expect(answer.body.retryable).toBe(true);
    }
    // Neither the scans that are kept nor new ones: a keeper would go after orders that are filled by now.
    for (const path of scans) {
      expectError(await api.get(path), 502, 'UPSTREAM', /too slowly/);
    }
    expect((await api.get('/ready')).text).toMatch(
      /marks are \d+ s old: the chain does not answer/,
    );

    thawNode();
    await fork.warp(1);
    await api.until('/v1/markets', ({ body }) => (body.live as unknown) === true);
    for (const path of [`/v1/wallet/${alice}`, ...scans]) expectOk(await api.get(path));
  } finally {
    thawNode();
    await api.stop();
    rmSync(api.folder, { recursive: true, force: true });
  }
});

test('builds, tools and sell routes of a frozen node are refused long before its timeout, and go on when it does', async () => {
  const api = await launchApi(fork.url, fork.deployment, {
    RPC_TIMEOUT_MS: '120000',
    // Reads are given longer than anybody here waits: what is refused was refused for the other budget.
    READ_BUDGET_MS: '120000',
    BUILD_BUDGET_MS: '1000',
  });
  const tools = await legacyClient(api.url);
  try {
    await api.settled();
    const address = fork.accounts.alice.account.address;
    const key = fork.accounts.agent.account.address;
    const vault = fork.vault('MAG7');
    const id = `0x${'ab'.repeat(32)}`;
    const own = { ticker: 'MAG7', address };
    const buy = { ...own, amountUsdg: 50 };
    const trade = { owner: address, key, ticker: 'MAG7', side: 'buy', amountUsdg: 50 };
    const cancel = { orderId: id, escrow: fork.deployment.limitEscrow, address };
    const shares = '1000000000000000000';
    const bodies: Record<string, object> = {
      '/v1/tx/buy': buy,
      '/v1/tx/sell': { ...own, shares },
      '/v1/tx/exit': { ...own, shares, stopNav: 1 },
      '/v1/tx/limit': buy,
      '/v1/tx/redeem': { ...own, shares, mode: 'inkind' },
      '/v1/tx/cancel': cancel,
      '/v1/tx/schedule': { ...buy, buys: 3, everyHours: 24 },
      '/v1/agent/trade': trade,
      '/v1/agent/cover': { owner: address, key, action: 'cancel', listingId: '1' },
    };
    await freezeNode();
    const answers = await Promise.all([
      ...Object.entries(bodies).map(([path, body]) => api.post(path, body)),
      api.get(`/v1/leverage/sell-routes?vault=${vault}&shares=${shares}`),
    ]);
    for (const answer of answers) expectError(answer, 502, 'UPSTREAM', /in time/);
    const calls = { buy, sell: { ...own, shares }, order: { kind: 'cancel', ...cancel } };
    const called = Object.entries({ ...calls, agent_trade: trade }).map(async ([name, input]) => {
      const { isError, structuredContent } = await tools.call(`basket_${name}`, input);
      expect({ name, isError, ...structuredContent }).toMatchObject({
        name,
        isError: true,
        code: 'UPSTREAM',
        retryable: true,
        next: 'wait',
      });
    });
    await Promise.all(called);

    thawNode();
    await api.marksSettled();
    expect((await api.post('/v1/tx/buy', buy)).status).toBe(200);
  } finally {
    thawNode();
    await tools.close();
    await api.stop();
    rmSync(api.folder, { recursive: true, force: true });
  }
});

test('a stop waits for no frozen node', async () => {
  const api = await launchApi(fork.url, fork.deployment, {
    RPC_TIMEOUT_MS: '120000',
    READ_BUDGET_MS: '120000',
  });
  try {
    await api.settled();
    await freezeNode();
    const marks = await api.until('/v1/markets', ({ body }) => (body.live as unknown) === false);
    expect(marks.status).toBe(200);
    // Nor for requests that wait for it.
    const address = fork.accounts.alice.account.address;
    const waiting = Promise.allSettled([1, 2, 3].map(() => api.get(`/v1/wallet/${address}`)));
    // Within what a process has for its stop.
    await within(api.stop(), 20_000, 'the stop');
    await waiting;
  } finally {
    thawNode();
    rmSync(api.folder, { recursive: true, force: true });
  }
});
