/**
 * What taking cover out of the book costs: best price first, each part of an offer as the market takes it (CoverBook
 * `take`: $50 or more of an offer, or all that is left of it; never above the week's cap). Pure.
 */
import { MIN_COVER_USD } from '../../contracts-abi/constants.ts';
import { coverFeeOf, premiumOf } from './terms.ts';

/** `pricePer1k`: USDG base units per $1,000 of cover; `openUsd`: whole dollars. */
export type OpenOffer = { id: bigint; pricePer1k: bigint; openUsd: bigint };

export type Part = { id: bigint; pricePer1k: bigint; coverUsd: bigint };

/** Money in USDG base units. */
export type Filled = {
  parts: readonly Part[];
  filledUsd: bigint;
  premium: bigint;
  /** 1% of each part's premium, rounded up for each. */
  fee: bigint;
  cost: bigint;
};

type Taken = Part & { openUsd: bigint };

/**
 * @param offers those that may be taken, best first
 * @param wantedUsd at least the market's minimum
 * @param capLeftUsd what the week's cap still carries
 * @param most parts
 */
export function fillOffers(
  offers: readonly OpenOffer[],
  wantedUsd: bigint,
  capLeftUsd: bigint,
  most = Number.POSITIVE_INFINITY,
): Filled {
  const wanted = wantedUsd < capLeftUsd ? wantedUsd : capLeftUsd;
  const parts: Taken[] = [];
  let left = wanted;
  for (const { id, pricePer1k, openUsd } of offers) {
    if (left === 0n || parts.length >= most) break;
    let coverUsd = openUsd < left ? openUsd : left;
    if (coverUsd < MIN_COVER_USD && coverUsd !== openUsd) {
      // Too small a part of this one: dearer parts before it give way, or it is passed over for a smaller one.
      const missing = MIN_COVER_USD - coverUsd;
      if (openUsd < MIN_COVER_USD || !giveWay(parts, missing)) continue;
      left += missing;
      coverUsd = MIN_COVER_USD;
    }
    parts.push({ id, pricePer1k, coverUsd, openUsd });
    left -= coverUsd;
  }
  return filledOf(parts);
}

/** Takes `missing` out of the parts, the dearest first, each staying one that the market takes. */
function giveWay(parts: readonly Taken[], missing: bigint): boolean {
  const room = ({ coverUsd }: Taken) => (coverUsd > MIN_COVER_USD ? coverUsd - MIN_COVER_USD : 0n);
  if (parts.reduce((sum, part) => sum + room(part), 0n) < missing) return false;
  let open = missing;
  for (const part of [...parts].reverse()) {
    const given = room(part) < open ? room(part) : open;
    part.coverUsd -= given;
    open -= given;
  }
  return true;
}

function filledOf(parts: readonly Taken[]): Filled {
  let [filledUsd, premium, fee] = [0n, 0n, 0n];
  for (const { coverUsd, pricePer1k } of parts) {
    const own = premiumOf(coverUsd, pricePer1k);
    filledUsd += coverUsd;
    premium += own;
    fee += coverFeeOf(own);
  }
  return {
    parts: parts.map(({ id, pricePer1k, coverUsd }) => ({ id, pricePer1k, coverUsd })),
    filledUsd,
    premium,
    fee,
    cost: premium + fee,
  };
}
