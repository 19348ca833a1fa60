/** A node that answers from some blocks ago makes no cover refusal final that the newest block does not (field case 37). */
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { type Agent, openAgent } from '../relayer/agent.ts';
import {
  type CoverPlanBody,
  coverAgent,
  currentWeek,
  execute,
  hold,
  onMarket,
} from './cover-agent.ts';
import { type ApiUnderTest, expectError, expectOk, launchApi } from './use-api.ts';

const fork = useFork();
const TICKER = 'MAG7';
const RANGE = { fromBps: 300, toBps: 1_000 };
const USD = 1_000_000n;

let proxy: Proxy;
let api: ApiUnderTest & { folder: string };

beforeEach(async () => {
  proxy = await startProxy(fork.url);
  api = await launchApi(proxy.url, fork.deployment);
  await api.settled();
});
afterEach(async () => {
  await api.stop();
  rmSync(api.folder, { recursive: true, force: true });
  await proxy.stop();
});

const ask = (agent: Agent, body: object) =>
  api.post('/v1/agent/cover', {
    owner: fork.accounts.alice.account.address,
    key: agent.key.address,
    ...body,
  });

const listed = (account: string, count: number) =>
  api.until(
    `/v1/cover/positions/${account}`,
    ({ body }) => (body.listings as unknown as unknown[])?.length === count,
  );

/** The api has heard of the newest block; from here on calls are answered from `blocks` before it. */
async function lag(blocks: number): Promise<void> {
  const head = await fork.client.getBlockNumber();
  await api.until('/metrics', ({ text }) => text.includes(`basket_api_head_block ${head}`));
  proxy.on('eth_call', {}, { fault: 'stale', blocks });
}

test('who has just bought the basket is a holder', async () => {
  const agent = await openAgent(fork, 'alice', 1_000n * USD, { coverDailyLimit: 20n * USD });
  await hold(fork, agent.account, TICKER, 60n);
  await lag(1);
  const terms = { ticker: TICKER, ...RANGE, coverUsd: 100 };
  expectOk(await ask(agent, { action: 'take', ...terms }));
  expectOk(await ask(agent, { action: 'request', ...terms, pricePer1k: 10 }));
});

test('the offer that was just made is cover, and the request that was just made is open', async () => {
  const agent = await coverAgent(fork, TICKER);
  const { week } = await currentWeek(fork);
  const narrow = { fromBps: 1_200, toBps: 1_300 };
  const plan = await ask(agent, {
    action: 'request',
    ticker: TICKER,
    ...RANGE,
    coverUsd: 100,
    pricePer1k: 10,
  });
  expectOk(plan);
  await execute(fork, agent, plan.body as unknown as CoverPlanBody);
  const { body } = await listed(agent.account, 1);
  const [{ id }] = body.listings as unknown as [{ id: string }];
  const offered = { week, vault: fork.vault(TICKER), ...narrow, coverUsd: 100n };
  await onMarket(fork, 'bob', {
    functionName: 'offer',
    args: [{ ...offered, pricePer1k: 5n * USD }, false],
  });
  await listed(fork.accounts.bob.account.address, 1);
  await lag(3);
  expectOk(await ask(agent, { action: 'take', ticker: TICKER, ...narrow, coverUsd: 100 }));
  expectOk(await ask(agent, { action: 'cancel', listingId: id }));
});

test('what is open the chain says, not an index that lags', async () => {
  const agent = await coverAgent(fork, TICKER);
  const { week } = await currentWeek(fork);
  const vault = fork.vault(TICKER);
  const narrow = { fromBps: 1_200, toBps: 1_300 };
  const terms = { week, vault, ...narrow, coverUsd: 100n, pricePer1k: 5n * USD };
  await onMarket(fork, 'bob', { functionName: 'offer', args: [terms, false] });
  const { body } = await listed(fork.accounts.bob.account.address, 1);
  const [{ id }] = body.listings as unknown as [{ id: string }];
  // The sale that follows is one that the index does not hear of.
  proxy.on('eth_getLogs', {}, { fault: 'result', result: [] });
  await onMarket(fork, 'carol', {
    functionName: 'take',
    args: [[BigInt(id)], [60n], 60n, USD],
  });
  const take = { action: 'take', ticker: TICKER, ...narrow, coverUsd: 100 };
  expectError(await ask(agent, take), 422, 'NO_COVER', /holds \$40 of the \$100/);
  const plan = await ask(agent, { ...take, allowPartial: true });
  expectOk(plan);
  expect((plan.body as unknown as CoverPlanBody).summary.cover).toBe(40);
});
