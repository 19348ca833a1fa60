/**
 * What taking cover out of the book costs: best price first, each part of an offer as the market takes it (CoverBook
 * `take`: $50 or more of an offer, or all that is left of it; never above the week's cap). Pure.
 *
 * Where that minimum is in the way (the best offer holds $50, $90 is wanted, and the next one does not sell the $40), up
 * to three offers are passed over: what fills more comes first, then what costs less.
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
  const { parts, even } = bestFirst(offers, wanted, most);
  const plain = filledOf(parts);
  if (even) return plain;
  return withoutSome(offers, parts.length)
    .map((rest) => filledOf(bestFirst(rest, wanted, most).parts))
    .reduce((best, other) => (isBetter(other, best) ? other : best), plain);
}

/** How far beyond the parts of the plain fill an offer may be passed over, and among how many of all. */
const OFFERS_AFTER = 2;
const OFFERS_TRIED = 9;

/** The offers without each one, each two and each three of those about which the fill is decided: its last ones. */
function withoutSome(offers: readonly OpenOffer[], parts: number): OpenOffer[][] {
  const end = Math.min(offers.length, parts + OFFERS_AFTER);
  const tried = offers.slice(Math.max(0, end - OFFERS_TRIED), end).map(({ id }) => id);
  const passedOver = tried.flatMap((one, first) =>
    tried
      .slice(first)
      .flatMap((two, second) =>
        tried.slice(first + second).map((three) => new Set([one, two, three])),
      ),
  );
  return passedOver.map((ids) => offers.filter(({ id }) => !ids.has(id)));
}

function isBetter(one: Filled, other: Filled): boolean {
  return one.filledUsd === other.filledUsd
    ? one.cost < other.cost
    : one.filledUsd > other.filledUsd;
}

/** `even`: the minimum was never in the way, so that nothing else fills more, or the same for less. */
function bestFirst(
  offers: readonly OpenOffer[],
  wanted: bigint,
  most: number,
): { parts: Taken[]; even: boolean } {
  const parts: Taken[] = [];
  let left = wanted;
  let even = true;
  for (const { id, pricePer1k, openUsd } of offers) {
    if (left === 0n || parts.length >= most) break;
    const least = openUsd < MIN_COVER_USD ? openUsd : MIN_COVER_USD;
    if (left < least) {
      even = false;
      // Dearer parts before it give way, or it is passed over for a smaller one.
      if (!giveWay(parts, least - left)) continue;
      left = least;
    }
    const coverUsd = openUsd < left ? openUsd : left;
    parts.push({ id, pricePer1k, coverUsd, openUsd });
    left -= coverUsd;
  }
  return { parts, even };
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
