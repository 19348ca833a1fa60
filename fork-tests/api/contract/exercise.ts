/** Makes every operation of the api answer: with something in every list, and with every refusal that can be had. */
import { encodeFunctionData, erc20Abi, type Hex, parseEventLogs } from 'viem';
import { USD } from '../../../contracts-abi/constants.ts';
import { coverMarketAbi, protocolPauseAbi } from '../../../contracts-abi/generated/index.ts';
import { write } from '../../chain/client.ts';
import type { Role } from '../../chain/seed/accounts.ts';
import type { Fork } from '../../harness/fork.ts';
import { openAgent } from '../../relayer/agent.ts';
import { sendCall } from '../send-plan.ts';
import { coverRequest, lookAtCover, refuseCover, refusePausedCover } from './cover.ts';
import type { DocumentCheck } from './document-check.ts';
import type { Recorder } from './recorder.ts';
import { bodyOf, type Scene } from './scene.ts';

/** All of its pools are against USDG. */
const TICKER = 'CHIP';

const addressOf = (fork: Fork, role: Role): Hex => fork.accounts[role].account.address;

type Plan = { approval: { to: Hex; data: Hex } | null; tx: { to: Hex; data: Hex } };

/** Builds, and sends what was built. */
async function act(scene: Scene, role: Role, path: string, body: object): Promise<void> {
  const { fork, ask } = scene;
  const request = { address: addressOf(fork, role), ...body };
  const { approval, tx } = bodyOf(await ask.post(path, request)) as Plan;
  if (approval !== null) await sendCall(fork, role, approval.to, approval.data);
  await sendCall(fork, role, tx.to, tx.data);
}

/** Owners, orders, a schedule, an agent and cover: what the reads then show. */
export async function live(fork: Fork, ask: Recorder): Promise<Scene> {
  const signer = await openAgent(fork, 'bob', 100n * USD, {
    validFor: 30 * 86_400,
    coverDailyLimit: 200n * USD,
  });
  const scene: Scene = {
    fork,
    ask,
    agent: { owner: addressOf(fork, 'bob'), key: signer.key.address },
    signer,
  };
  const alice = addressOf(fork, 'alice');
  await takeCover(fork, 'MAG7');
  await act(scene, 'alice', '/v1/tx/buy', { ticker: TICKER, amountUsdg: 1_000 });
  const owned = bodyOf(await ask.get(`/v1/wallet/${alice}`)) as {
    holdings: { sharesWei: string }[];
  };
  const shares = (BigInt(owned.holdings[0]?.sharesWei ?? '0') / 4n).toString();
  const sale = { ticker: TICKER, shares, slippageBps: 100 };
  await act(scene, 'alice', '/v1/tx/sell', sale);
  await act(scene, 'alice', '/v1/tx/exit', { ticker: TICKER, shares, stopNav: 1, tpNav: 100_000 });
  const resting = { ticker: TICKER, amountUsdg: 50, triggerNav: 1 };
  await act(scene, 'alice', '/v1/tx/limit', { ...resting, expiryDays: 1 });
  await act(scene, 'alice', '/v1/tx/limit', { ticker: TICKER, amountUsdg: 100 });
  await act(scene, 'alice', '/v1/tx/schedule', {
    ticker: TICKER,
    amountUsdg: 25,
    buys: 3,
    everyHours: 24,
  });
  await ask.post('/v1/tx/redeem', { ticker: TICKER, shares, address: alice });
  await ask.post('/v1/tx/buy', { ticker: TICKER, amountUsdg: 20, address: alice, simulate: false });
  return scene;
}

/** Alice takes the cheapest cover of this week, which becomes a position. */
async function takeCover(fork: Fork, ticker: string): Promise<void> {
  const market = { address: fork.deployment.coverMarket, abi: coverMarketAbi } as const;
  const [, week] = await fork.client.readContract({ ...market, functionName: 'currentWeek' });
  const logs = await fork.client.getLogs({
    address: market.address,
    fromBlock: BigInt(fork.deployment.startBlock),
    toBlock: 'latest',
  });
  const offer = parseEventLogs({ abi: coverMarketAbi, eventName: 'Listed', logs }).find(
    ({ args }) => args.terms.week === week && args.terms.vault === fork.vault(ticker),
  );
  if (offer === undefined) throw new Error(`no cover of ${ticker} is offered this week`);
  const { account } = fork.accounts.alice;
  await write(fork.client, account, {
    address: fork.deployment.usdg,
    abi: erc20Abi,
    functionName: 'approve',
    args: [market.address, 10n ** 12n],
  });
  await write(fork.client, account, {
    ...market,
    functionName: 'take',
    args: [[offer.args.id], [200n], 200n, 10n ** 12n],
  });
}

type Rows<T> = Record<string, T[]>;

/** Every read, with something in every list; the builds that a wallet's orders allow. */
export async function look(scene: Scene): Promise<void> {
  const { fork, ask, agent } = scene;
  const alice = addressOf(fork, 'alice');
  const { body: orders } = await rows<{ id: Hex; kind: string }>(
    ask,
    `/v1/orders/${alice}`,
    (all) =>
      ['bracket', 'limit_buy'].every((kind) => all.orders?.some((order) => order.kind === kind)),
  );
  const bracket = orders.orders?.find(({ kind }) => kind === 'bracket')?.id;
  await ask.post('/v1/tx/cancel', { orderId: bracket });
  await ask.post('/v1/tx/cancel', { orderId: bracket, address: alice });
  // Dry runs of what would revert, at once and after the approval.
  await ask.post('/v1/tx/cancel', { orderId: bracket, address: agent.owner });
  await ask.post('/v1/tx/buy', { ticker: TICKER, amountUsdg: 500, address: agent.key });
  await rows(ask, `/v1/positions/${alice}`, ({ positions }) => positions?.length === 1);
  const due = await rows<{ type: string; tx: Plan['tx'] }>(
    ask,
    '/v1/jobs',
    ({ jobs }) => jobs?.some(({ type }) => type === 'limit') === true,
  );
  const fill = due.body.jobs?.find(({ type }) => type === 'limit')?.tx;
  if (fill !== undefined) await sendCall(fork, 'keeper', fill.to, fill.data);
  // One that has executed, beside a schedule that has not yet.
  await rows<{ buys: number }>(
    ask,
    `/v1/strategies/${alice}`,
    ({ strategies }) => strategies?.some(({ buys }) => buys === 1) === true,
  );
  for (const path of [
    '/',
    '/health',
    '/openapi.json',
    '/llms.txt',
    '/docs',
    '/approve',
    '/v1/baskets?pretty=1',
    '/v1/baskets?fields=ticker,targetWeights',
    '/v1/baskets/PREIPO',
    '/v1/indexes',
    '/v1/indexes/core',
    '/v1/markets',
    '/v1/markets?prices=0&fields=ticker,nav',
    '/v1/stats',
    '/v1/jobs/changes',
    `/v1/nav/${TICKER}/history`,
    `/v1/nav/${TICKER}/history?format=close&res=1h&days=2`,
    `/v1/nav/${TICKER}/history?format=summary&days=30`,
    `/v1/wallet/${addressOf(fork, 'agent')}`,
    `/v1/leverage/sell-routes?vault=${fork.vault(TICKER)}&shares=1000000000000000000`,
    `/v1/leverage/sell-routes?vault=${fork.vault('PREIPO')}&shares=1000000000000000`,
    `/v1/agent/session?owner=${agent.owner}&key=${agent.key}&pretty=1`,
  ]) {
    await ask.get(path);
  }
  const trade = { ...agent, ticker: TICKER, side: 'buy', amountUsdg: 40, slippageBps: 200 };
  await ask.post('/v1/agent/trade', trade);
  await lookAtCover(scene);
  const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const accept = { accept: 'application/json, text/event-stream' };
  await ask.post('/mcp', rpc, accept);
  await ask.post('/mcp', { ...rpc, method: 'tools/none' }, accept);
}

async function rows<T>(
  ask: Recorder,
  path: string,
  holds: (body: Rows<T>) => boolean,
): Promise<{ body: Rows<T> }> {
  const answer = await ask.until(path, (body) => holds(body));
  return { body: bodyOf(answer) as Rows<T> };
}

/** What the cover market waits for at the close of its week: the chain's clock is days ahead then. */
export async function untilClose({ fork, ask }: Scene): Promise<void> {
  const market = { address: fork.deployment.coverMarket, abi: coverMarketAbi } as const;
  const [, week] = await fork.client.readContract({ ...market, functionName: 'currentWeek' });
  const { close } = await fork.client.readContract({
    ...market,
    functionName: 'weekOf',
    args: [week],
  });
  await fork.warp(close - (await fork.now()));
  await rows(ask, '/v1/cover/payouts', ({ payouts }) => payouts?.length === 1);
  await fork.warp(86_400);
  await rows(ask, '/v1/jobs', ({ skipped }) => skipped?.[0] !== undefined);
}

/** An operation's path with its parameters in place. */
function pathAt(path: string, ticker: string, account: string): string {
  return path.replace('{ticker}', ticker).replace(/\{(address|account)\}/, account);
}

/** Requests that are wrong in themselves, by the operation that refuses them. */
export async function refuseWrong(scene: Scene, check: DocumentCheck): Promise<void> {
  const { fork, ask, agent } = scene;
  const carol = addressOf(fork, 'carol');
  for (const { path, method } of check.operations) {
    const concrete = pathAt(path, 'CORE', carol);
    if (method === 'get') {
      await ask.post(concrete, {});
      await ask.get(pathAt(path, '%E0%A4%A', '%E0%A4%A'));
      await ask.get(pathAt(path, 'NONE', 'nobody'));
      await ask.get(
        `${concrete}?fields=apy&executor=me&days=0&vault=me&owner=me&week=now&waitMs=soon`,
      );
    } else {
      await ask.get(concrete);
      await ask.post(concrete, '{');
      await ask.post(concrete, '[]');
      await ask.post(concrete, JSON.stringify('x'.repeat(300_000)));
      await ask.post(concrete, 'x=1', { 'content-type': 'text/plain' });
      await ask.post(concrete, {});
    }
  }
  const wallet = { address: carol, ticker: 'CORE', shares: '1000000000000000000', stopNav: 1 };
  const funds = { address: carol, amountUsdg: 50, buys: 2, everyHours: 24 };
  for (const build of ['sell', 'exit', 'redeem']) {
    await ask.post(`/v1/tx/${build}`, wallet);
    await ask.post(`/v1/tx/${build}`, { ...wallet, ticker: 'NONE' });
  }
  await ask.post('/v1/tx/exit', { ...wallet, ticker: 'FRESH' });
  for (const build of ['buy', 'limit', 'schedule']) {
    await ask.post(`/v1/tx/${build}`, { ...funds, ticker: 'NONE' });
    await ask.post(`/v1/tx/${build}`, { ...funds, ticker: 'FRESH' });
    await ask.post(`/v1/tx/${build}`, { ...funds, ticker: 'PREIPO' });
  }
  await ask.post('/v1/tx/cancel', { orderId: `0x${'12'.repeat(32)}` });
  const buy = { ...agent, ticker: 'CORE', side: 'buy', amountUsdg: 20, slippageBps: 200 };
  for (const change of [
    { ticker: 'NONE' },
    { key: carol },
    { slippageBps: 1_000 },
    { ticker: 'FRESH' },
    { ticker: 'PREIPO' },
    { amountUsdg: 5_000 },
    { amountUsdg: 300 },
    { side: 'sell', amountUsdg: undefined, shares: '1000000000000000000000' },
  ]) {
    await ask.post('/v1/agent/trade', { ...buy, ...change });
  }
  await refuseCover(scene);
}

/** A cancelled order cannot be cancelled again; a paused protocol builds no buys. */
export async function refuseLate(scene: Scene): Promise<void> {
  const { fork, ask, agent } = scene;
  const alice = addressOf(fork, 'alice');
  const { orders } = bodyOf(await ask.get(`/v1/orders/${alice}`)) as Rows<{
    id: Hex;
    kind: string;
  }>;
  const cancel = { orderId: orders?.find(({ kind }) => kind === 'bracket')?.id };
  await act(scene, 'alice', '/v1/tx/cancel', cancel);
  await ask.post('/v1/tx/cancel', cancel);
  const pause = encodeFunctionData({ abi: protocolPauseAbi, functionName: 'pause' });
  await sendCall(fork, 'guardian', fork.deployment.pause, pause);
  const buy = { ticker: TICKER, amountUsdg: 40, address: alice };
  await ask.post('/v1/tx/buy', buy);
  await ask.post('/v1/agent/trade', { ...agent, ticker: TICKER, side: 'buy', amountUsdg: 40 });
  await refusePausedCover(scene);
}

/** One plain request per operation: for when none of them can be served. */
export async function askEach(scene: Scene, ask: Recorder, check: DocumentCheck) {
  const { fork, agent } = scene;
  const alice = addressOf(fork, 'alice');
  const body = {
    address: alice,
    amountUsdg: 50,
    shares: '1000000000000000000',
    stopNav: 1,
    buys: 2,
    everyHours: 24,
    orderId: `0x${'12'.repeat(32)}`,
    escrow: fork.deployment.exitEscrow,
    ticker: TICKER,
  };
  const agents: Record<string, object> = {
    '/v1/agent/trade': { ...agent, ticker: TICKER, side: 'buy', amountUsdg: 40 },
    '/v1/agent/cover': coverRequest(scene),
  };
  const query = `vault=${fork.vault(TICKER)}&shares=1000000000000000000`;
  const session = `owner=${agent.owner}&key=${agent.key}`;
  for (const { path, method } of check.operations) {
    const concrete = pathAt(path, TICKER, alice);
    if (method === 'post') await ask.post(concrete, agents[path] ?? body);
    else if (path === '/v1/agent/session') await ask.get(`${concrete}?${session}`);
    else if (path === '/v1/leverage/sell-routes') await ask.get(`${concrete}?${query}`);
    else await ask.get(concrete);
  }
}
