/** The terms behind the ids of a take, as the chain has them, against what the caller asked. */
import { describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { COVER_KIND, type CoverOrder, encodeCoverData } from '../../contracts-abi/cover-data.ts';
import type { ChainReader, CoverListing } from './chain.ts';
import { checkCoverOnChain } from './cover-listings.ts';
import { pinsOf } from './pins.ts';
import type { Policy, Terms } from './terms.ts';

const at = (digit: string) => `0x${digit.repeat(40)}` as const;
const [account, module, market, vault, other] = [at('1'), at('2'), at('3'), at('4'), at('5')];
const deployment = {
  chainId: 4663,
  sessionModule: module,
  coverModule: module,
  coverMarket: market,
  baskets: [
    { ticker: 'CORE', vault },
    { ticker: 'ADS', vault: other },
  ],
};
const policy: Policy = {
  pins: pinsOf(deployment),
  account,
  kinds: ['cover-take'],
  maxSpend: 100n * USD,
  maxSlippageBps: 100,
  maxFee: USD,
};
const WEEK = 2_900;
const listing: CoverListing = {
  side: 'offer',
  week: WEEK,
  vault,
  fromBps: 300,
  toBps: 1_000,
  pricePer1k: 5n * USD,
};

/** The chain: a book, and the week that trades. */
function reader(
  book: Record<string, CoverListing>,
  week: number | null = WEEK,
): { chain: ChainReader; asked: unknown[] } {
  const asked: unknown[] = [];
  const unasked = () => Promise.reject(new Error('not of a nonce'));
  return {
    asked,
    chain: {
      time: unasked,
      nonce: unasked,
      execution: unasked,
      coverListings: async (of, ids) => {
        asked.push([of, ids]);
        return ids.map((id) => book[`${id}`] ?? null);
      },
      coverWeek: async (of) => {
        asked.push(of);
        return week;
      },
    },
  };
}

const signable = (order: CoverOrder) =>
  ({
    type: 'cover',
    module,
    action: {
      account,
      key: account,
      kind: COVER_KIND[order.tag],
      data: encodeCoverData(order),
      nonce: 1n,
      deadline: 1,
      fee: 0n,
    },
  }) as const;
const take = signable({
  tag: 'take',
  ids: [7n, 8n],
  coverUsd: [60n, 40n],
  minCoverUsd: 100n,
  limit: USD,
});
const takeTerms = {
  type: 'cover',
  kind: 'cover-take',
  ticker: 'CORE',
  fromBps: 300,
  toBps: 1_000,
  coverUsd: 100n,
} as const;
const request = signable({ tag: 'request', ...listing, coverUsd: 100n });
const { side: _, vault: __, ...asListed } = listing;
const requestTerms = {
  type: 'cover',
  kind: 'cover-request',
  ticker: 'CORE',
  coverUsd: 100n,
  fromBps: asListed.fromBps,
  toBps: asListed.toBps,
  pricePer1k: asListed.pricePer1k,
} as const;

async function judge(
  chain: ChainReader | null,
  terms: Terms = takeTerms,
  its: Policy = policy,
): Promise<string | null> {
  const signed = terms.kind === 'cover-request' ? request : take;
  const found = await checkCoverOnChain(signed, terms, its, chain);
  return found === null ? null : `${found.field} ${found.reason}`;
}

describe('a take', () => {
  it('of listings as asked passes; every id is read at the pinned market', async () => {
    const { chain, asked } = reader({ 7: listing, 8: { ...listing, pricePer1k: 6n * USD } });
    expect(await judge(chain, { ...takeTerms, maxPricePer1k: 6n * USD })).toBeNull();
    expect(asked).toEqual([market, [market, [7n, 8n]]]);
    const named = reader({ 7: { ...listing, week: 2_901 }, 8: { ...listing, week: 2_901 } });
    expect(await judge(named.chain, { ...takeTerms, week: 2_901 })).toBeNull();
    expect(named.asked).toEqual([[market, [7n, 8n]]]);
  });

  it.each<[string, Partial<CoverListing>, RegExp]>([
    ['a request', { side: 'request' }, /^side of listing 8 is not an offer/],
    ['another basket', { vault: other }, /^vault of listing 8 is not the vault .* for CORE/],
    ['another week', { week: WEEK + 1 }, /^week of listing 8 /],
    ['a range from elsewhere', { fromBps: 350 }, /^fromBps of listing 8 /],
    ['a range to elsewhere', { toBps: 950 }, /^toBps of listing 8 /],
    ['a dearer price', { pricePer1k: 5n * USD + 1n }, /^pricePer1k of listing 8 is above/],
  ])('of %s behind its last id is refused', async (_, change, reason) => {
    const { chain } = reader({ 7: listing, 8: { ...listing, ...change } });
    const terms = { ...takeTerms, maxPricePer1k: 5n * USD };
    expect(await judge(chain, terms)).toMatch(reason);
    expect(await judge(chain, { ...terms, week: WEEK })).toMatch(reason);
  });

  it('of an id that the chain does not show is built anew', async () => {
    const found = await checkCoverOnChain(take, takeTerms, policy, reader({ 7: listing }).chain);
    expect(found).toEqual({
      field: 'ids',
      reason: '8 is no listing that the chain shows',
      next: 'rebuild',
    });
  });

  it('is refused where no week trades, where no market is pinned, and of a basket that is not', async () => {
    const book = { 7: listing, 8: listing };
    expect(await judge(reader(book, null).chain)).toMatch(/^week none is trading/);
    expect(await judge(reader(book).chain, { ...takeTerms, ticker: 'NONE' })).toMatch(/^ticker /);
    const { coverMarket: _, ...without } = deployment;
    const unpinned = { ...policy, pins: pinsOf(without) };
    expect(await judge(reader(book).chain, takeTerms, unpinned)).toMatch(/^coverMarket is not/);
  });

  it('is refused without a chain reader, unless the host trusts the plans; with one that changes nothing', async () => {
    const trusting = { ...policy, trustCoverPlans: true };
    expect(await judge(null)).toMatch(/^ids name listings that nobody has read: .*trustCoverPlans/);
    expect(await judge(null, takeTerms, trusting)).toBeNull();
    const { chain } = reader({ 7: { ...listing, vault: other }, 8: listing });
    expect(await judge(chain, takeTerms, trusting)).toMatch(/^vault of listing 7/);
  });

  it('is not signed when the chain cannot be asked', async () => {
    const { chain } = reader({});
    const broken = { ...chain, coverListings: () => Promise.reject(new Error('no connection')) };
    await expect(judge(broken)).rejects.toThrow('no connection');
  });
});

describe('a request without a week', () => {
  it('is of the one trading now', async () => {
    expect(await judge(reader({}).chain, requestTerms)).toBeNull();
    expect(await judge(reader({}, WEEK - 1).chain, requestTerms)).toMatch(/^week is not the one/);
    expect(await judge(reader({}, null).chain, requestTerms)).toMatch(/^week none is trading/);
  });

  it('is refused where nobody says which that is', async () => {
    expect(await judge(null, requestTerms)).toMatch(/^week is not named, and nobody has read/);
    expect(await judge(null, requestTerms, { ...policy, trustCoverPlans: true })).toBeNull();
    expect(await judge(null, { ...requestTerms, week: WEEK })).toBeNull();
  });
});
