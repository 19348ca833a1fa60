/**
 * A life of two wallets and an agent on a fork, so that every route of the api has something to answer: buys, exits of
 * each kind, limit buys, a schedule, fills by a stranger, and trades of a session key. Each answer goes into the corpus.
 */
import { encodeFunctionData, erc20Abi, type Hex } from 'viem';
import { accountFactoryAbi, sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { actionFromJson } from '../../contracts-abi/typed-data.ts';
import { transact } from '../chain/client.ts';
import type { Role } from '../chain/seed/accounts.ts';
import type { Fork } from '../harness/fork.ts';
import type { Corpus, Recorded } from './corpus.ts';
import type { Trade } from './strict/agent.ts';
import type { Plan } from './strict/plans.ts';

const USD = 1_000_000n;

type Call = { to: Hex; data: Hex; value?: string };

export class Life {
  /** What everything here is traded in: all of its pools are against USDG. */
  readonly ticker = 'CHIP';
  readonly fork: Fork;
  readonly corpus: Corpus;

  constructor(fork: Fork, corpus: Corpus) {
    this.fork = fork;
    this.corpus = corpus;
  }

  address(role: Role): Hex {
    return this.fork.accounts[role].account.address;
  }

  /** The `value` of a plan is base units in decimal. */
  async send(role: Role, { to, data, value = '0' }: Call): Promise<void> {
    const request = { to, data, value: BigInt(value) };
    await transact(this.fork.client, this.fork.accounts[role].account, request);
  }

  /** Builds, sends what the plan says in the order of the documents, and builds again once the approval is mined. */
  async act(role: Role, path: string, body: object): Promise<Recorded> {
    const request = { address: this.address(role), ...body };
    let recorded = await this.corpus.post(path, request);
    let plan = planOf(recorded);
    if (plan.approval !== null) {
      await this.send(role, plan.approval);
      recorded = await this.corpus.post(path, request);
      plan = planOf(recorded);
    }
    if (plan.simulation?.ok === false) {
      throw new Error(`${path} ${JSON.stringify(body)} would revert: ${plan.simulation.reason}`);
    }
    await this.send(role, plan.tx);
    return recorded;
  }

  async sharesOf(owner: Hex): Promise<bigint> {
    return await this.fork.client.readContract({
      address: this.fork.vault(this.ticker),
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [owner],
    });
  }

  async nav(): Promise<number> {
    const { body } = await this.corpus.peek({ method: 'GET', path: `/v1/baskets/${this.ticker}` });
    return (body as { nav: number }).nav;
  }
}

export function planOf({ status, body }: Recorded): Plan {
  if (status !== 200) throw new Error(`no plan: ${status} ${JSON.stringify(body)}`);
  return body as Plan;
}

/** The reads of somebody who has only looked so far, in all their variants. */
export async function look(life: Life): Promise<void> {
  const { corpus } = life;
  for (const path of [
    '/',
    '/health',
    '/openapi.json',
    '/v1/baskets',
    '/v1/baskets?fields=ticker,targetWeights',
    '/v1/baskets/MAG7',
    // Not all of its constituents have a price.
    '/v1/baskets/PREIPO?pretty=1',
    '/v1/indexes?fields=ticker,thesis',
    '/v1/indexes/core',
    '/v1/markets',
    '/v1/markets?prices=0&fields=ticker,nav,risk',
    '/v1/markets?fields=buyCostBps',
    `/v1/wallet/${life.address('alice')}`,
    // Holds nothing, not even gas.
    `/v1/wallet/${life.address('agent')}`,
    `/v1/orders/${life.address('alice')}`,
    `/v1/positions/${life.address('alice')}`,
    `/v1/strategies/${life.address('alice')}`,
    '/v1/jobs',
    '/v1/jobs/changes',
    '/v1/nav/CORE/history?days=2',
    '/v1/nav/chip/history?res=1d&days=30&format=ohlc',
    '/v1/nav/MAG7/history?format=close&days=2',
    '/v1/nav/MAG7/history?format=summary',
    '/v1/nav/MAG7/history?format=summary&days=365',
    '/v1/nav/MAG7/history?days=1',
    // Without a price there is nothing to sum up.
    '/v1/nav/PREIPO/history?format=summary&days=2',
    `/v1/leverage/sell-routes?vault=${life.fork.vault('CORE')}&shares=10000000000000000`,
    // One of its constituents has no route.
    `/v1/leverage/sell-routes?vault=${life.fork.vault('PREIPO')}&shares=10000000000000000`,
  ]) {
    await corpus.get(path);
  }
}

/** Buys, sells and the forms of a simulation: not run, passed, would revert. */
export async function trade(life: Life): Promise<void> {
  const { corpus, ticker } = life;
  const alice = life.address('alice');
  await life.act('alice', '/v1/tx/buy', { ticker, amountUsdg: 1_000.5, slippageBps: 100 });
  const unsent = { ticker, amountUsdg: 20, address: alice, simulate: false };
  await corpus.post('/v1/tx/buy', unsent);

  // Allowed to be spent, but not there.
  const tooMuch = { ticker: 'HEALTH', amountUsdg: 150_000, address: life.address('dave') };
  const { approval } = planOf(await corpus.post('/v1/tx/limit', tooMuch));
  if (approval !== null) await life.send('dave', approval);
  await corpus.post('/v1/tx/limit', tooMuch);

  const shares = (await life.sharesOf(alice)) / 10n;
  await life.act('alice', '/v1/tx/sell', { ticker, shares: shares.toString() });
  await corpus.post('/v1/tx/sell', { ticker, shares: 'max', fraction: 0.5, address: alice });
  await corpus.post('/v1/tx/sell', { ticker, shares: 'max', address: alice, simulate: false });
  await corpus.post('/v1/tx/redeem', { ticker, shares: shares.toString(), address: alice });
  await corpus.get(`/v1/wallet/${alice}`);
}

/** Exits of each kind and limit buys, open; one cancelled. Returns the ids of what is due once prices fall. */
export async function placeOrders(life: Life): Promise<void> {
  const { corpus, ticker } = life;
  const alice = life.address('alice');
  const nav = await life.nav();
  const shares = ((await life.sharesOf(alice)) / 5n).toString();
  await life.act('alice', '/v1/tx/exit', { ticker, shares, stopNav: nav * 0.985 });
  await life.act('alice', '/v1/tx/exit', { ticker, shares, tpNav: nav * 1.5, expiryDays: 90 });
  await life.act('alice', '/v1/tx/exit', { ticker, shares, stopNav: 1, tpNav: nav * 1.5 });
  await life.act('alice', '/v1/tx/limit', { ticker, amountUsdg: 50.25, triggerNav: 1 });
  // Ends before anything fills it, so that it is skipped.
  await life.act('alice', '/v1/tx/limit', {
    ticker,
    amountUsdg: 20,
    triggerNav: 1,
    expiryDays: 1,
  });
  const { body } = await corpus.until(
    `/v1/orders/${alice}`,
    ({ orders }: { orders: unknown[] }) => orders.length === 5,
  );
  const { orders } = body as { orders: { id: Hex; escrow: Hex; kind: string }[] };
  const resting = orders.find(({ kind }) => kind === 'take_profit');
  const cancel = { orderId: resting?.id, address: alice };
  await life.act('alice', '/v1/tx/cancel', cancel);
  await corpus.until(
    `/v1/orders/${alice}`,
    (left: { orders: unknown[] }) => left.orders.length === 4,
  );
  await corpus.post('/v1/tx/cancel', cancel);
  const stop = orders.find(({ kind }) => kind === 'stop_loss');
  // Without an address nothing can be simulated; a stranger's cancel would revert.
  await corpus.post('/v1/tx/cancel', { orderId: stop?.id, escrow: stop?.escrow });
  await corpus.post('/v1/tx/cancel', { orderId: stop?.id, address: life.address('bob') });
}

type Bought = { spentUsd: number };
type Held = { escrowedShares: number };
type Job = { id: Hex; type: string; tx: Call };

/** One job of each type that exists, executed by a stranger. */
export async function executeJobs(life: Life): Promise<void> {
  const { corpus, ticker, fork } = life;
  await life.act('bob', '/v1/tx/limit', { ticker, amountUsdg: 100 });
  await life.act('bob', '/v1/tx/schedule', { ticker, amountUsdg: 25, buys: 3, everyHours: 24 });
  await fork.pushPrice('NVDA', 0.95);
  await fork.warp(610);
  const has = ({ jobs }: { jobs: Job[] }) =>
    ['sell', 'limit', 'schedule'].every((type) => jobs.some((job) => job.type === type));
  const { body } = await corpus.until(`/v1/jobs?executor=${life.address('carol')}`, has);
  await corpus.until('/v1/jobs', has);
  for (const { tx } of (body as { jobs: Job[] }).jobs) await life.send('keeper', tx);
  await corpus.until(`/v1/strategies/${life.address('bob')}`, (answer: { strategies: Bought[] }) =>
    answer.strategies.some(({ spentUsd }) => spentUsd > 0),
  );
  await corpus.until('/v1/stats', ({ volumeAllTime }: { volumeAllTime: number }) => {
    return volumeAllTime > 0;
  });
  await corpus.until(`/v1/positions/${life.address('alice')}`, (answer: { positions: Held[] }) =>
    answer.positions.some(({ escrowedShares }) => escrowedShares > 0),
  );
  await fork.warp(86_400);
  await corpus.until('/v1/jobs', ({ skipped }: { skipped: unknown[] }) => skipped.length > 0);
}

/** A key without a grant, the owner's grant, and a buy and a sale of the key, executed. */
export async function actAsAgent(life: Life): Promise<void> {
  const { corpus, fork, ticker } = life;
  const [owner, key] = [life.address('bob'), life.address('agent')];
  const sessionPath = `/v1/agent/session?owner=${owner}&key=${key}`;
  const { body } = await corpus.get(sessionPath);
  const { account } = body as { account: Hex };
  const buy = { owner, key, ticker, side: 'buy', amountUsdg: 40, slippageBps: 100 };
  await corpus.post('/v1/agent/trade', buy);

  await life.send('bob', {
    to: fork.deployment.accountFactory,
    data: encodeFunctionData({
      abi: accountFactoryAbi,
      functionName: 'openAndGrant',
      args: [
        {
          key,
          validUntil: (await fork.now()) + 7 * 86_400,
          maxSlippageBps: 100,
          coverEnabled: true,
          dailyLimit: 500n * USD,
          coverDailyLimit: 10n * USD,
        },
      ],
    }),
  });
  await life.send('bob', {
    to: fork.deployment.usdg,
    data: encodeFunctionData({
      abi: erc20Abi,
      functionName: 'transfer',
      args: [account, 100n * USD],
    }),
  });
  await corpus.get(sessionPath);
  await execute(life, await corpus.post('/v1/agent/trade', { ...buy, feeUsdg: '250000' }));
  const shares = (await life.sharesOf(account)).toString();
  await corpus.post('/v1/agent/trade', {
    owner,
    key,
    ticker,
    side: 'sell',
    shares,
    slippageBps: 100,
  });
}

/** Signs the typed data as it stands, and submits it as anybody may. */
async function execute({ fork }: Life, { status, body }: Recorded): Promise<void> {
  if (status !== 200) throw new Error(`no trade: ${status} ${JSON.stringify(body)}`);
  const { typedData, action } = body as Trade;
  const signature = await fork.accounts.agent.account.signTypedData(typedData);
  await transact(fork.client, fork.accounts.relayer.account, {
    to: typedData.domain.verifyingContract,
    data: encodeFunctionData({
      abi: sessionModuleAbi,
      functionName: 'execute',
      args: [actionFromJson(action), signature],
    }),
  });
}
