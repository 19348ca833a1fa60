/** What bounds a cover action of an agent, rule by rule: each test fails where its rule is left out. */

import { encodeFunctionData, erc20Abi, type Hex } from 'viem';
import { beforeEach, describe, expect, test } from 'vitest';
import { decodeCoverData } from '../../contracts-abi/cover-data.ts';
import { coverMarketAbi, exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { receiptOf, write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { type Agent, openAgent } from '../relayer/agent.ts';
import {
  coverAgent,
  type CoverPlanBody,
  currentWeek,
  execute,
  hold,
  onMarket,
} from './cover-agent.ts';
import { expectError, expectOk, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork);

const TICKER = 'MAG7';
/** Nobody else offers here. */
const RANGE = { fromBps: 1_200, toBps: 1_300 };
const USD = 1_000_000n;

let agent: Agent;

beforeEach(async () => {
  agent = await coverAgent(fork, TICKER);
  await api.settled();
});

const owner = () => fork.accounts.alice.account.address;
const cover = (body: object) =>
  api.post('/v1/agent/cover', { owner: owner(), key: agent.key.address, ...body });
const take = (body: object = {}) =>
  cover({ action: 'take', ticker: TICKER, ...RANGE, coverUsd: 100, ...body });

async function planned(answer: ReturnType<typeof cover>): Promise<CoverPlanBody> {
  const got = await answer;
  expectOk(got);
  return got.body as unknown as CoverPlanBody;
}

type Quote = { filledUsd: number; cost: number };
type BookOffer = { id: string; pricePer1k: number; coverUsd: number };

async function book(query = ''): Promise<{ offers: BookOffer[]; quote: Quote }> {
  const { fromBps, toBps } = RANGE;
  const { body } = await api.get(
    `/v1/cover/book/${TICKER}?fromBps=${fromBps}&toBps=${toBps}${query}`,
  );
  return (body.ranges as unknown as [{ offers: BookOffer[]; quote: Quote }])[0];
}

/** Bob offers these in the range, and the api has heard of them; the ids, the cheapest first. */
async function offered(...offers: { cents: number; coverUsd: bigint }[]): Promise<string[]> {
  const { week } = await currentWeek(fork);
  const known = (await book()).offers.length;
  const [first, ...others] = offers.map(({ cents, coverUsd }) => {
    const terms = { week, vault: fork.vault(TICKER), ...RANGE, coverUsd };
    const args = [{ ...terms, pricePer1k: BigInt(cents) * 10_000n }, false] as const;
    return { functionName: 'offer' as const, args };
  });
  if (first !== undefined) await onMarket(fork, 'bob', first);
  for (const offer of others) {
    await write(fork.client, fork.accounts.bob.account, {
      address: fork.deployment.coverMarket,
      abi: coverMarketAbi,
      ...offer,
    });
  }
  const { fromBps, toBps } = RANGE;
  const { body } = await api.until(
    `/v1/cover/book/${TICKER}?fromBps=${fromBps}&toBps=${toBps}`,
    ({ body }) =>
      (body.ranges as unknown as [{ offers: BookOffer[] }])?.[0]?.offers.length ===
      known + offers.length,
  );
  return (body.ranges as unknown as [{ offers: BookOffer[] }])[0].offers.map(({ id }) => id);
}

/** The account itself acts, as its owner has it do: it approves what it holds, and calls. */
async function asAccount(token: Hex, to: Hex, data: Hex): Promise<void> {
  const { client } = fork;
  const approve = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'approve',
    args: [to, 10n ** 30n],
  });
  await client.impersonateAccount({ address: agent.account });
  await client.setBalance({ address: agent.account, value: 10n ** 18n });
  for (const call of [
    { to: token, data: approve },
    { to, data },
  ]) {
    const fees = { maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 0n } as const;
    const hash = await client.sendTransaction({
      account: agent.account,
      chain: null,
      ...fees,
      ...call,
    });
    expect((await receiptOf(client, hash, 20_000)).status).toBe('success');
  }
  await client.stopImpersonatingAccount({ address: agent.account });
}

/** An offer of the account's own, of $100 for a cent, that the api has heard of; its id. */
async function ownOffer(): Promise<string> {
  const { week } = await currentWeek(fork);
  const terms = { week, vault: fork.vault(TICKER), ...RANGE, coverUsd: 100n, pricePer1k: 10_000n };
  const { usdg, coverMarket } = fork.deployment;
  await asAccount(
    usdg,
    coverMarket,
    encodeFunctionData({ abi: coverMarketAbi, functionName: 'offer', args: [terms, false] }),
  );
  const { body } = await api.until(
    `/v1/cover/positions/${agent.account}`,
    ({ body }) => (body.listings as unknown as unknown[])?.length === 1,
  );
  return (body.listings as unknown as [{ id: string }])[0].id;
}

describe('a take of a book of crumbs', () => {
  test('leaves the smallest for a larger offer where 20 do not reach, as the quote does', async () => {
    const crumbs = Array.from({ length: 20 }, (_, at) => ({ cents: 1 + at, coverUsd: 50n }));
    await offered(...crumbs, { cents: 600, coverUsd: 2_000n });
    const { quote } = await book('&coverUsd=1200');
    const plan = await planned(take({ coverUsd: 1_200 }));
    expect(plan.offers).toHaveLength(20);
    expect(plan.offers.at(-1)).toMatchObject({ coverUsd: 250, pricePer1k: 6 });
    expect(plan.summary).toMatchObject({ cover: 1_200, cost: quote.cost });
    expect(quote.filledUsd).toBe(1_200);
    expect(decodeCoverData(plan.action.kind, plan.action.data)).toMatchObject({
      minCoverUsd: 1_200n,
    });
    expect((await execute(fork, agent, plan)).status).toBe('success');
  });

  test('is refused in words that are true: what an action buys, and what the book holds', async () => {
    await offered(...Array.from({ length: 22 }, () => ({ cents: 1, coverUsd: 50n })));
    const answer = await take({ coverUsd: 1_050 });
    expectError(answer, 422, 'NO_COVER', /buys \$1000 of the \$1050 .*holds \$1100 .*20 offers/);
    const some = await planned(take({ coverUsd: 1_050, allowPartial: true }));
    expect([some.summary.cover, some.offers.length]).toEqual([1_000, 20]);
    expect((await book('&coverUsd=1050')).quote.filledUsd).toBe(1_000);
  });
});

describe('what a key cannot do', () => {
  test('buy of its own account', async () => {
    const own = await ownOffer();
    expectError(await take(), 422, 'NO_COVER', /holds no cover/);
    await offered({ cents: 600, coverUsd: 100n });
    const plan = await planned(take());
    expect(plan.offers.map(({ id }) => id)).not.toContain(own);
    expect((await execute(fork, agent, plan)).status).toBe('success');
  });

  test("cancel an offer, its account's or another's", async () => {
    const own = await ownOffer();
    const answer = await cover({ action: 'cancel', listingId: own });
    expectError(answer, 400, 'BAD_REQUEST', /the owner alone/);
    const theirs = (await offered({ cents: 600, coverUsd: 100n })).find((id) => id !== own);
    expectError(await cover({ action: 'cancel', listingId: theirs }), 422, 'ORDER_NOT_OPEN');
  });

  test('pay more than 3% of the cover, whatever price it allows itself', async () => {
    await offered({ cents: 2_971, coverUsd: 100n });
    expectError(await take({ maxPricePer1k: 40 }), 422, 'NO_COVER', /holds no cover/);
    await offered({ cents: 2_970, coverUsd: 100n });
    const plan = await planned(take({ maxPricePer1k: 40 }));
    expect(plan.summary.cost).toBeCloseTo(2.9997, 9);
    expect((await execute(fork, agent, plan)).status).toBe('success');
  });

  test('buy more than the cap of the week still carries', async () => {
    const { body } = await api.get(`/v1/cover/book/${TICKER}`);
    const capLeft = body.capLeftUsd as unknown as number;
    await offered({ cents: 1, coverUsd: BigInt(capLeft + 500) });
    const wanted = { coverUsd: capLeft + 100 };
    expectError(await take(wanted), 422, 'NO_COVER', new RegExp(`cap .* carries \\$${capLeft}`));
    const plan = await planned(take({ ...wanted, allowPartial: true }));
    expect(plan.summary.cover).toBe(capLeft);
    expect((await execute(fork, agent, plan)).status).toBe('success');
    expectError(await take({ allowPartial: true }), 422, 'NO_COVER', /buys \$0 .*carries \$0/);
  });

  test('act beyond the end of its grant', async () => {
    agent = await openAgent(fork, 'carol', 100n * USD, {
      validFor: 250,
      coverDailyLimit: 20n * USD,
    });
    await hold(fork, agent.account, TICKER, 60n);
    await offered({ cents: 600, coverUsd: 100n });
    const carol = { owner: fork.accounts.carol.account.address };
    const { action, status } = await planned(take(carol));
    expect(action.deadline).toBe(status.validUntil);
  });
});

describe('what an account needs', () => {
  test('is a holding, not a moment with a valid reference: a holder is told to wait', async () => {
    const bob = await openAgent(fork, 'bob', USD, { coverDailyLimit: USD });
    await fork.pushPrice('NVDA', 0.85);
    await fork.warp(120);
    await api.settled();
    const terms = { ticker: TICKER, ...RANGE, coverUsd: 100 };
    for (const body of [
      { action: 'take', ...terms },
      { action: 'request', ...terms, pricePer1k: 10 },
    ]) {
      const answer = await cover(body);
      expectError(answer, 503, 'PAUSED', /no valid 10-minute average NAV/);
      expect(answer.body.retryable).toBe(true);
      const nobody = { owner: fork.accounts.bob.account.address, key: bob.key.address };
      expectError(await cover({ ...body, ...nobody }), 422, 'NOT_A_HOLDER');
    }
  });

  test('is the network fee too', async () => {
    agent = await coverAgent(fork, TICKER, { owner: 'carol', funds: USD });
    const carol = { owner: fork.accounts.carol.account.address };
    await offered({ cents: 990, coverUsd: 100n });
    // $0.9999 of $1.
    const plan = await planned(take({ ...carol, feeUsdg: '100' }));
    expect(plan.summary.cost).toBeCloseTo(0.9999, 9);
    const dear = take({ ...carol, feeUsdg: '101' });
    expectError(await dear, 422, 'INSUFFICIENT_FUNDS', /holds \$1 .*needs \$1\.000001/);
    const terms = { ticker: TICKER, ...RANGE, coverUsd: 100, pricePer1k: 10 };
    const request = { ...carol, action: 'request', ...terms };
    await planned(cover({ ...request, feeUsdg: '0' }));
    expectError(await cover({ ...request, feeUsdg: '1' }), 422, 'INSUFFICIENT_FUNDS');
  });

  test('is a holding, of which shares in exit orders are a part', async () => {
    await offered({ cents: 600, coverUsd: 100n });
    const vault = fork.vault(TICKER);
    const shares = await fork.client.readContract({
      address: vault,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [agent.account],
    });
    const exit = {
      vault,
      shares,
      stopNav: 1n,
      tpNav: 0n,
      hardFloorNav: 0n,
      slippageBps: 0,
      capBps: 0,
      deadline: (await fork.now()) + 86_400,
    };
    await asAccount(
      vault,
      fork.deployment.exitEscrow,
      encodeFunctionData({ abi: exitEscrowAbi, functionName: 'create', args: [exit] }),
    );
    expect((await execute(fork, agent, await planned(take()))).status).toBe('success');
  });
});
