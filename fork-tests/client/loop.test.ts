/**
 * A strict public client walks the loops of the documents against a real api, relayer and keeper on a fork, all of them
 * behind a reverse proxy on another port and under a base path.
 */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchApi } from '../api/use-api.ts';
import { transact } from '../chain/client.ts';
import type { Role } from '../chain/seed/accounts.ts';
import { type Fork, startFork } from '../harness/fork.ts';
import { launchKeeper, stopKeepers } from '../keeper/use-keeper.ts';
import { dataFolder, startTestRelayer } from '../relayer/relayer.ts';
import { grant } from '../wallet/grant.ts';
import { Agent, Trader } from './loop.ts';
import { PublicClient, Refused } from './public-client.ts';
import { type ReverseProxy, startReverseProxy } from './reverse-proxy.ts';
import { root } from './strict/marks.ts';
import { mutate } from './strict/mutations.ts';
import { relayed } from './strict/relayer.ts';

let fork: Fork;
let proxy: ReverseProxy;
let client: PublicClient;
let urls: { api: string; relayer: string; approval: string };
/** What the processes really listen on: nobody outside is to see it. */
let inside: string[];
const endings: (() => Promise<unknown> | void)[] = [];

beforeAll(async () => {
  fork = await startFork();
  endings.push(() => fork.anvil.stop());
  proxy = await startReverseProxy();
  endings.push(() => proxy.stop());
  urls = {
    api: proxy.url('/baskets/api'),
    relayer: proxy.url('/relayer'),
    approval: proxy.url('/owners/approve'),
  };
  const data = dataFolder();
  endings.push(() => data.remove());
  const relayer = await startTestRelayer(fork, data);
  endings.push(relayer.stop);
  const api = await launchApi(fork.url, fork.deployment, {
    PUBLIC_BASE_URL: urls.api,
    RELAYER_URL: urls.relayer,
    APPROVAL_URL: urls.approval,
    CHAIN_RPC_PUBLIC: 'https://rpc.example.org',
    CHAIN_EXPLORER: 'https://explorer.example.org',
    COST_INTERVAL_MS: '500',
  });
  endings.push(async () => {
    await api.stop();
    rmSync(api.folder, { recursive: true, force: true });
  });
  inside = [api.url, relayer.url, fork.url];
  proxy.route('/baskets/api', api.url);
  proxy.route('/relayer', relayer.url);
  client = new PublicClient(urls.api);
});

afterAll(async () => {
  await stopKeepers();
  for (const end of endings.reverse()) await end();
});

function traderOf(role: Role): Trader {
  const { account } = fork.accounts[role];
  return new Trader(client, {
    address: account.address,
    send: async (call) => void (await transact(fork.client, account, call)),
  });
}

describe('a client of the public documents', () => {
  test('buys, holds, sets and cancels orders, sells everything', async () => {
    const alice = traderOf('alice');
    const ticker = await alice.pick();
    const before = await alice.balance();
    const bought = await alice.buy(ticker, 250);
    expect(bought.approval).toBeNull();
    expect(bought.amountInUsdg).toBe('250000000');

    // Shares are the chain's of now, their cost follows when the index has read the trade.
    const paid = before.usdg - (await alice.balance()).usdg;
    const held = await alice.position(
      ticker,
      (position) => position !== undefined && Math.abs(position.costBasis - paid) < 1e-4,
    );
    expect(held?.walletSharesWei).toBe(held?.sharesWei);
    expect(BigInt(held?.sharesWei ?? 0)).toBeGreaterThanOrEqual(BigInt(bought.minShares));

    const half = (BigInt(held?.sharesWei ?? 0) / 2n).toString();
    await alice.stop(ticker, half, (held?.nav ?? 0) * 0.5);
    const [stop] = await alice.openOrders(1);
    expect(stop).toMatchObject({ kind: 'stop_loss', ticker });
    const escrowed = await alice.position(
      ticker,
      (position) => position?.sharesWei !== position?.walletSharesWei,
    );
    expect(escrowed?.sharesWei).toBe(held?.sharesWei);
    expect(await alice.cancel(stop?.id ?? '0x')).toBe(true);
    expect(await alice.openOrders(0)).toEqual([]);
    expect(await alice.cancel(stop?.id ?? '0x')).toBe(false);

    await alice.limit(ticker, 50, (held?.nav ?? 0) * 0.5);
    const [limit] = await alice.openOrders(1);
    expect(limit).toMatchObject({ kind: 'limit_buy', amountUsdg: 50 });
    expect(await alice.cancel(limit?.id ?? '0x')).toBe(true);
    await alice.openOrders(0);

    const sold = await alice.sell(ticker);
    expect(sold.sharesWei).toBe(held?.sharesWei);
    await alice.position(ticker, (position) => position === undefined || position.shares === 0);
    expect((await alice.balance()).holdings).toEqual([]);
  });

  test('executes a triggered order as a stranger, and leaves the next one to the keeper', async () => {
    const ticker = 'HEALTH';
    const [alice, carol] = [traderOf('alice'), traderOf('carol')];
    await alice.buy(ticker, 400);
    const held = await alice.position(ticker, (position) => position !== undefined);
    const half = (BigInt(held?.sharesWei ?? 0) / 2n).toString();
    await alice.stop(ticker, half, (held?.nav ?? 0) * 0.985);
    const [first] = await alice.openOrders(1);
    for (const symbol of ['LLY', 'UNH']) await fork.pushPrice(symbol, 0.96);
    await fork.warp(610);

    const [aliceBefore, carolBefore] = [await alice.balance(), await carol.balance()];
    const job = await carol.executeJob(first?.id ?? '0x');
    expect(job).toMatchObject({ type: 'sell', id: first?.id, ticker });
    const earned = BigInt((await carol.balance()).usdgWei) - BigInt(carolBefore.usdgWei);
    expect(Number(earned) / Number(job.feeUsdg)).toBeCloseTo(1, 2);
    await alice.openOrders(0);
    expect((await alice.balance()).usdg).toBeGreaterThan(aliceBefore.usdg + 150);

    const left = await alice.position(
      ticker,
      (position) => position !== undefined && position.escrowedShares === 0,
    );
    const keeper = await launchKeeper(fork, [urls.api]);
    await alice.stop(ticker, left?.walletSharesWei ?? '0', (left?.nav ?? 0) * 1.01);
    await alice.openOrders(1);
    await keeper.tick();
    await keeper.settle(10_000);
    await alice.openOrders(0);
    await alice.position(ticker, (position) => position === undefined || position.shares === 0);
    await stopKeepers();
  });

  test('trades through a session: approval of the owner, fee re-signed, position, sold again', async () => {
    const { account: key } = fork.accounts.agent;
    const owner = fork.accounts.bob.account.address;
    const sign = { address: key.address, sign: (data: never) => key.signTypedData(data) };
    const agent = new Agent(client, owner, sign, 1_000_000n);
    const buy = { ticker: 'CORE', side: 'buy', amountUsdg: 50 };

    const inactive = await agent.session();
    expect(inactive).toMatchObject({ active: false, deployed: false });
    const refusal = await agent.trade(buy).catch((error: unknown) => error);
    expect(refusal instanceof Refused && refusal.code).toBe('SESSION_INACTIVE');
    // What a person does at approvalUrl.
    const { url: rpcUrl, client: chain, deployment } = fork;
    await grant({ rpcUrl, deploymentFile: '', client: chain, deployment }, 'bob', 'agent', {
      trades: '200',
    });
    const active = await agent.session();
    expect(active).toMatchObject({ active: true, account: inactive.account, paused: false });

    const bought = await agent.trade(buy);
    const [unpaid, paid, ...more] = bought.posted;
    expect(more).toEqual([]);
    expect(unpaid?.answer).toHaveProperty('requiredFee');
    expect([paid?.nonce, paid?.deadline]).toEqual([unpaid?.nonce, unpaid?.deadline]);
    expect(paid?.fee).toBeGreaterThan(0n);

    const view = new Trader(client, {
      address: active.account,
      send: () => Promise.reject(new Error('an account sends nothing by itself')),
    });
    const held = await view.position('CORE', (position) => position !== undefined);
    expect(held?.sharesWei).toBe(bought.plan.action.amount);
    const sold = await agent.trade({ ticker: 'CORE', side: 'sell', shares: held?.walletSharesWei });
    // The last answer's quote was signed at once.
    expect(sold.posted).toHaveLength(1);
    await view.position('CORE', (position) => position === undefined || position.shares === 0);
    expect((await view.balance()).holdings).toEqual([]);
  });

  test('refuses what the relayer answered with any one field missing, of another type, or spoilt', () => {
    const answers = client.relayed.map(({ status, json }) => {
      const outcome = mutate(relayed(status), json);
      const { unknown, deformed, retypes, deletions } = outcome;
      return { status, unknown, deformed, retypes, deletions };
    });
    const none = new Set<string>();
    const strict = { unknown: none, deformed: none, retypes: none };
    const mined = {
      status: 200,
      ...strict,
      deletions: new Set(['requiredFee', 'digest', 'receipt']),
    };
    const asked = { status: 402, ...strict, deletions: new Set(['check']) };
    expect(answers).toEqual([asked, mined, mined]);
  });

  test('sees no URL that was not configured', async () => {
    const { chain } = await client.read('/', root);
    expect(chain).toMatchObject({
      rpc: 'https://rpc.example.org',
      explorer: 'https://explorer.example.org',
    });
    const texts = [...client.texts];
    for (const path of ['/llms.txt', '/openapi.json']) {
      const response = await fetch(`${urls.api}${path}`);
      expect(response.status).toBe(200);
      texts.push(await response.text());
    }
    const hosts = inside.map((url) => new URL(url).host);
    const local = new Set(
      texts.flatMap((text) => text.match(/https?:\/\/127[^\s"'`)\\,]*/g) ?? []),
    );
    const configured = Object.values(urls);
    expect([...local].filter((url) => !configured.some((own) => url.startsWith(own)))).toEqual([]);
    expect(texts.filter((text) => hosts.some((host) => text.includes(host)))).toEqual([]);
    for (const own of configured) expect([...local].some((url) => url.startsWith(own))).toBe(true);
  });
});
