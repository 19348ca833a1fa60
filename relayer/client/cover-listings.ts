/**
 * What only the chain says of a cover plan: the terms behind the ids of a take, and the week that trades now where the
 * caller names none. Ids bind their terms (protocol rule 24): what is read of one is what the market sells under it.
 */
import { isAddressEqual } from 'viem';
import { type CoverOrder, decodeCoverData } from '../../contracts-abi/cover-data.ts';
import type { ChainReader, CoverListing } from './chain.ts';
import { type Violation, violation } from './outcome.ts';
import { vaultOf } from './pins.ts';
import type { Signable } from './signable.ts';
import type { Policy, Terms } from './terms.ts';

type Take = Extract<CoverOrder, { tag: 'take' }>;
type TakeTerms = Extract<Terms, { kind: 'cover-take' }>;

/**
 * The first thing that the host does not sign, or null; of a plan that `checkPlan` lets pass.
 * @throws what the reader throws
 */
export async function checkCoverOnChain(
  { type, action }: Signable,
  terms: Terms,
  policy: Policy,
  chain: ChainReader | null,
): Promise<Violation | null> {
  const order = type === 'cover' ? decodeCoverData(action.kind, action.data) : null;
  if (order?.tag === 'take' && terms.kind === 'cover-take') {
    return await checkTake(order, terms, policy, chain);
  }
  // The other terms of a request stand in the action itself.
  if (order?.tag === 'request' && terms.kind === 'cover-request' && terms.week === undefined) {
    return await checkWeek(order.week, policy, chain);
  }
  return null;
}

const HOW = 'give the client a chain reader, or allow it by `trustCoverPlans` of the policy';
const NO_MARKET = violation('coverMarket', 'is not pinned');
const NO_WEEK = violation('week', 'none is trading');

async function checkWeek(
  week: number,
  { pins, trustCoverPlans }: Policy,
  chain: ChainReader | null,
): Promise<Violation | null> {
  if (chain === null) {
    if (trustCoverPlans === true) return null;
    return violation('week', `is not named, and nobody has read which one trades: name it, ${HOW}`);
  }
  if (pins.coverMarket === undefined) return NO_MARKET;
  const now = await chain.coverWeek(pins.coverMarket);
  if (now === null) return NO_WEEK;
  return week === now ? null : violation('week', 'is not the one trading now');
}

async function checkTake(
  { ids }: Take,
  terms: TakeTerms,
  policy: Policy,
  chain: ChainReader | null,
): Promise<Violation | null> {
  if (chain === null) {
    if (policy.trustCoverPlans === true) return null;
    return violation('ids', `name listings that nobody has read: ${HOW}`);
  }
  const market = policy.pins.coverMarket;
  if (market === undefined) return NO_MARKET;
  const week = terms.week ?? (await chain.coverWeek(market));
  if (week === null) return NO_WEEK;
  const listings = await chain.coverListings(market, ids);
  for (const [index, id] of ids.entries()) {
    const found = checkListing(id, listings[index] ?? null, { ...terms, week }, policy);
    if (found !== null) return found;
  }
  return null;
}

function checkListing(
  id: bigint,
  listing: CoverListing | null,
  terms: TakeTerms & { week: number },
  policy: Policy,
): Violation | null {
  // A node may be a block behind the api's.
  if (listing === null) {
    return { ...violation('ids', `${id} is no listing that the chain shows`), next: 'rebuild' };
  }
  const against = (field: string, why: string) => violation(field, `of listing ${id} ${why}`);
  if (listing.side !== 'offer') return against('side', 'is not an offer');
  const vault = vaultOf(policy.pins, terms.ticker);
  if (vault === null) return violation('ticker', `${terms.ticker} is not pinned`);
  if (!isAddressEqual(listing.vault, vault)) {
    return against('vault', `is not the vault that is pinned for ${terms.ticker}`);
  }
  for (const field of ['week', 'fromBps', 'toBps'] as const) {
    if (listing[field] !== terms[field]) return against(field, 'is not what was asked');
  }
  if (terms.maxPricePer1k !== undefined && listing.pricePer1k > terms.maxPricePer1k) {
    return against('pricePer1k', 'is above the dearest price asked');
  }
  return null;
}
