/** What the host signs of a cover plan (wire.md, Cover rules). Pure. */
import { isAddressEqual } from 'viem';
import { MAX_SESSION_COVER_OFFERS } from '../../contracts-abi/constants.ts';
import { type CoverOrder, decodeCoverData } from '../../contracts-abi/cover-data.ts';
import { premiumOf, sessionCeiling, takeCostOf } from '../../contracts-abi/cover-pricing.ts';
import type { CoverAction } from '../../contracts-abi/typed-data.ts';
import { type Violation, violation } from './outcome.ts';
import { vaultOf } from './pins.ts';
import type { CoverTerms, Policy } from './terms.ts';

/**
 * Of a take, the listings are numbers here: what it may cost and how much it covers is checked, and what they insure
 * in cover-listings.ts, by the chain.
 */
export function checkCover(
  action: CoverAction,
  terms: CoverTerms,
  policy: Policy,
): Violation | null {
  const order = decodeCoverData(action.kind, action.data);
  if (order === null) return violation('data', 'is not what this kind carries');
  switch (terms.kind) {
    case 'cover-take':
      return order.tag === 'take' ? checkTake(order, terms, policy) : OTHER_KIND;
    case 'cover-request':
      return order.tag === 'request' ? checkRequest(order, terms, policy) : OTHER_KIND;
    case 'cover-cancel':
      if (order.tag !== 'cancel') return OTHER_KIND;
      if (order.listingId !== terms.listingId)
        return violation('listingId', 'is not the one asked');
      return action.fee === 0n ? null : violation('fee', 'a cancel carries none');
  }
  return terms satisfies never;
}

const OTHER_KIND = violation('data', 'is of another kind');

function checkTake(
  order: Extract<CoverOrder, { tag: 'take' }>,
  terms: Extract<CoverTerms, { kind: 'cover-take' }>,
  policy: Policy,
): Violation | null {
  const covered = order.coverUsd.reduce((sum, each) => sum + each, 0n);
  if (covered === 0n || order.ids.length !== order.coverUsd.length) {
    return violation('coverUsd', 'takes nothing');
  }
  if (BigInt(order.ids.length) > MAX_SESSION_COVER_OFFERS) {
    return violation('ids', 'are more than a key takes at once');
  }
  if (covered > terms.coverUsd) return violation('coverUsd', 'is above the cover asked');
  if (covered < terms.coverUsd && terms.allowPartial !== true) {
    return violation('coverUsd', 'is below the cover asked');
  }
  if (order.minCoverUsd !== covered) return violation('minCoverUsd', 'is not the whole cover');
  if (order.limit > sessionCeiling(covered)) return violation('limit', 'is above 3% of the cover');
  if (order.limit > policy.maxSpend) {
    return violation('limit', 'is above what this host spends at once');
  }
  const price = terms.maxPricePer1k;
  if (price === undefined) return null;
  // As the market adds it up: the fee is on top of the premium, and rounded up for each part.
  const dearest = order.coverUsd.reduce((sum, each) => sum + takeCostOf(each, price), 0n);
  return order.limit > dearest ? violation('limit', 'is above the dearest price asked') : null;
}

function checkRequest(
  order: Extract<CoverOrder, { tag: 'request' }>,
  terms: Extract<CoverTerms, { kind: 'cover-request' }>,
  policy: Policy,
): Violation | null {
  const vault = vaultOf(policy.pins, terms.ticker);
  if (vault === null) return violation('ticker', `${terms.ticker} is not pinned`);
  if (!isAddressEqual(order.vault, vault)) {
    return violation('vault', `is not the vault that is pinned for ${terms.ticker}`);
  }
  for (const field of ['fromBps', 'toBps', 'coverUsd', 'pricePer1k'] as const) {
    if (order[field] !== terms[field]) return violation(field, 'is not what was asked');
  }
  if (terms.week !== undefined && order.week !== terms.week) {
    return violation('week', 'is not what was asked');
  }
  if (premiumOf(order.coverUsd, order.pricePer1k) > policy.maxSpend) {
    return violation('pricePer1k', 'would lock more than this host spends at once');
  }
  return null;
}
