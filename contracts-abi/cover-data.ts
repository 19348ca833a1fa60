/**
 * What `CoverAction.data` holds, by kind (wire.md, Cover plan; ICoverModule.sol): take, request and cancel. Kinds 2, 3
 * and 5 belong to the owner and have no form here: a session key is refused with them.
 */
import { type Address, decodeAbiParameters, encodeAbiParameters, type Hex } from 'viem';

export const COVER_KIND = {
  take: 0,
  request: 1,
  offer: 2,
  fill: 3,
  cancel: 4,
  stopRepeating: 5,
} as const;

const TAKE = [
  { name: 'ids', type: 'uint256[]' },
  { name: 'coverUsd', type: 'uint64[]' },
  { name: 'minCoverUsd', type: 'uint256' },
  { name: 'limit', type: 'uint256' },
] as const;
const REQUEST = [
  { name: 'week', type: 'uint32' },
  { name: 'vault', type: 'address' },
  { name: 'fromBps', type: 'uint16' },
  { name: 'toBps', type: 'uint16' },
  { name: 'coverUsd', type: 'uint64' },
  { name: 'pricePer1k', type: 'uint128' },
] as const;
const CANCEL = [{ name: 'listingId', type: 'uint256' }] as const;

/** Whole dollars of each listing; `limit` is the most USDG of premiums and fees together. */
export type CoverTake = {
  tag: 'take';
  ids: readonly bigint[];
  coverUsd: readonly bigint[];
  minCoverUsd: bigint;
  limit: bigint;
};

/** `pricePer1k`: USDG base units per $1,000 of cover. */
export type CoverRequest = {
  tag: 'request';
  week: number;
  vault: Address;
  fromBps: number;
  toBps: number;
  coverUsd: bigint;
  pricePer1k: bigint;
};

export type CoverCancel = { tag: 'cancel'; listingId: bigint };

/** What a session key may ask the cover market for. Its tag is the name of its kind in COVER_KIND. */
export type CoverOrder = CoverTake | CoverRequest | CoverCancel;

export function encodeCoverData(order: CoverOrder): Hex {
  switch (order.tag) {
    case 'take':
      return encodeAbiParameters(TAKE, [order.ids, order.coverUsd, order.minCoverUsd, order.limit]);
    case 'request':
      return encodeAbiParameters(REQUEST, [
        order.week,
        order.vault,
        order.fromBps,
        order.toBps,
        order.coverUsd,
        order.pricePer1k,
      ]);
    case 'cancel':
      return encodeAbiParameters(CANCEL, [order.listingId]);
  }
  return order satisfies never;
}

/**
 * Reads `data` of a kind that a session key may use. Null for other kinds, for what does not decode, and for what is
 * not exactly what `encodeCoverData` writes: one order has one encoding, so one digest.
 */
export function decodeCoverData(kind: number, data: Hex): CoverOrder | null {
  let order: CoverOrder | null;
  try {
    order = read(kind, data);
    if (order === null || encodeCoverData(order) !== data.toLowerCase()) return null;
  } catch {
    // expected: the bytes come from whoever calls
    return null;
  }
  return order;
}

function read(kind: number, data: Hex): CoverOrder | null {
  if (kind === COVER_KIND.take) {
    const [ids, coverUsd, minCoverUsd, limit] = decodeAbiParameters(TAKE, data);
    return { tag: 'take', ids, coverUsd, minCoverUsd, limit };
  }
  if (kind === COVER_KIND.request) {
    const [week, vault, fromBps, toBps, coverUsd, pricePer1k] = decodeAbiParameters(REQUEST, data);
    return { tag: 'request', week, vault, fromBps, toBps, coverUsd, pricePer1k };
  }
  if (kind === COVER_KIND.cancel) {
    const [listingId] = decodeAbiParameters(CANCEL, data);
    return { tag: 'cancel', listingId };
  }
  return null;
}
