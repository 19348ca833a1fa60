/**
 * What taking cover out of the book costs: best price first, each part of an offer as the market takes it (CoverBook
 * `take`: $50 or more of an offer, or all that is left of it; never above the week's cap). Pure.
 *
 * Where that minimum is in the way (the best offer holds $50, $90 is wanted, and the next one does not sell the $40), up
 * to three offers are passed over; where the count of parts is (a session key takes 20 at most, and the cheapest may be
 * crumbs), larger and dearer ones come in for the smallest. What fills more comes first, then what costs less.
 */
import { MAX_SESSION_COVER_OFFERS, MIN_COVER_USD } from '../../contracts-abi/constants.ts';
import { coverFeeOf, premiumOf } from '../../contracts-abi/cover-pricing.ts';

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

/** Parts of one action: what a session key may take, and what is quoted. */
const MOST_PARTS = Number(MAX_SESSION_COVER_OFFERS);
/** Offers that are looked at of a range, of the cheapest and of the largest: some may be gone by now. */
export const SHORTLISTED = 2 * MOST_PARTS;

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
  most = MOST_PARTS,
): Filled {
  const wanted = wantedUsd < capLeftUsd ? wantedUsd : capLeftUsd;
  const fill = (some: readonly OpenOffer[]) => filledOf(bestFirst(some, wanted, most).parts);
  const best = (fills: readonly Filled[], first: Filled) =>
    fills.reduce((known, other) => (isBetter(other, known) ? other : known), first);
  const { parts, even, short } = bestFirst(offers, wanted, most);
  const plain = filledOf(parts);
  if (even && !short) return plain;
  const passing = best(withoutSome(offers, parts.length).map(fill), plain);
  if (!short) return passing;
  const sets = largerSets(offers, wanted, most);
  return best(
    sets
      .flatMap((set) => [set, ...(bestFirst(set, wanted, most).even ? [] : withoutSome(set, most))])
      .map(fill),
    passing,
  );
}

/** Of a week's offers of one range, best first, those that a fill is made of: the cheapest, and the largest. */
export function shortlist<O extends OpenOffer>(offers: readonly O[]): O[] {
  if (offers.length <= SHORTLISTED) return [...offers];
  const kept = new Set([
    ...offers.slice(0, SHORTLISTED),
    ...offers.toSorted(largestFirst).slice(0, SHORTLISTED),
  ]);
  return offers.filter((offer) => kept.has(offer));
}

const largestFirst = (one: OpenOffer, other: OpenOffer): number =>
  Number(other.openUsd - one.openUsd);

/** As many dearest offers are tried, each larger than those before it. */
const ENDS_TRIED = 8;
/** Percent of its price: the more, the larger the others are. */
const SAVED_AGAINST = [100n, 150n, 250n];

/**
 * Where the cheapest are too small for the count: sets that reach what is wanted, each of one offer and of those before
 * it that save most against its price, or, where these are too small, that are larger. The last: the largest of all.
 */
function largerSets(
  offers: readonly OpenOffer[],
  wanted: bigint,
  most: number,
): (readonly OpenOffer[])[] {
  const sets: (readonly OpenOffer[])[] = [];
  let largest = 0n;
  for (let end = most; end < offers.length && sets.length < ENDS_TRIED; end += 1) {
    const last = offers[end];
    // A cheaper one reaches as far.
    if (last === undefined || last.openUsd <= largest) continue;
    const before = offers.slice(0, end);
    const reaching = (ranked: readonly OpenOffer[]) => {
      const set = new Set([...ranked.slice(0, most - 1), last]);
      const open = [...set].reduce((sum, { openUsd }) => sum + openUsd, 0n);
      return open < wanted ? null : offers.filter((offer) => set.has(offer));
    };
    const far = reaching(before.toSorted(largestFirst));
    if (far === null) continue;
    largest = last.openUsd;
    const near = SAVED_AGAINST.map((percent) =>
      reaching(before.toSorted(mostSaved((last.pricePer1k * percent) / 100n))),
    );
    sets.push(near.find((set) => set !== null) ?? far);
  }
  const largestOfAll = new Set(offers.toSorted(largestFirst).slice(0, most));
  return [...sets, offers.filter((offer) => largestOfAll.has(offer))];
}

/** By what an offer costs less than at this price, all of it taken. */
function mostSaved(price: bigint): (one: OpenOffer, other: OpenOffer) => number {
  const saved = ({ openUsd, pricePer1k }: OpenOffer) => openUsd * (price - pricePer1k);
  return (one, other) => Number(saved(other) - saved(one));
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

/**
 * `even`: the minimum was never in the way, so that nothing else fills more, or the same for less, unless it is `short`:
 * the count was in the way.
 */
function bestFirst(
  offers: readonly OpenOffer[],
  wanted: bigint,
  most: number,
): { parts: Taken[]; even: boolean; short: boolean } {
  const parts: Taken[] = [];
  let left = wanted;
  let even = true;
  for (const { id, pricePer1k, openUsd } of offers) {
    if (left === 0n) break;
    if (parts.length >= most) return { parts, even, short: true };
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
  return { parts, even, short: false };
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
