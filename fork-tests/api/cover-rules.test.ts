/** What bounds a cover action of an agent, rule by rule: each test fails where its rule is left out. */

import { beforeEach, describe, expect, test } from 'vitest';
import { decodeCoverData } from '../../contracts-abi/cover-data.ts';
import { useFork } from '../harness/fork.ts';
import type { Agent } from '../relayer/agent.ts';
import { coverAgent, type CoverPlanBody, currentWeek, execute, onMarket } from './cover-agent.ts';
import { expectError, expectOk, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork);

const TICKER = 'MAG7';
/** Nobody else offers here. */
const RANGE = { fromBps: 1_200, toBps: 1_300 };

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
  for (const { cents, coverUsd } of offers) {
    const terms = { week, vault: fork.vault(TICKER), ...RANGE, coverUsd };
    await onMarket(fork, 'bob', {
      functionName: 'offer',
      args: [{ ...terms, pricePer1k: BigInt(cents) * 10_000n }, false],
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
