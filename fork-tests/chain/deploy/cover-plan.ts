/** What extends a cover market, from what stands: slots to raise, weeks to publish, baskets to list. Pure. */
import {
  COVER_CUTOFF,
  COVER_PUBLISH_AHEAD,
  COVER_PUBLISH_LEAD,
  MIN_COVER_CARDINALITY,
  MIN_COVER_USD,
} from '../../../contracts-abi/constants.ts';
import { coverWeeks } from '../../../contracts-abi/cover-calendar.ts';
import { growthSteps } from '../live/plan.ts';
import {
  type CoverBasket,
  type CoverState,
  type CoverWeekTimes,
  capOfDepth,
  standingOf,
} from './cover-state.ts';
import { PUBLISH_MARGIN, sharersOf } from './cover-steps.ts';
import type { ProtocolPlan } from './plan.ts';

export type CoverWish = {
  /** Observation slots to raise pools to; below what a snapshot takes: none are raised. */
  slots: number;
  /** Weeks that shall be published from now on. */
  weeks: number;
  /** Tickers to list; null: all that may be. */
  only: readonly string[] | null;
};

export type CoverPlan = {
  growth: ProtocolPlan['growth'];
  weeks: readonly CoverWeekTimes[];
  listings: readonly CoverListing[];
};

export type CoverListing = {
  basket: CoverBasket;
  /** As in a deployment: itself and those after it that hang on a pool of its. The cap is read when its turn comes. */
  sharers: number;
  /** Whole dollars that hold in whatever order the baskets are listed: what is stated where nothing is read between. */
  statedCap: bigint;
};

export function planCover(state: CoverState, wish: CoverWish): CoverPlan {
  const raises = BigInt(wish.slots) >= MIN_COVER_CARDINALITY;
  const wanted = state.baskets.filter(({ ticker }) => wish.only?.includes(ticker) ?? true);
  const by = (...tags: readonly string[]) =>
    wanted.filter((basket) => tags.includes(standingOf(basket).tag));
  const ready = by('ready');
  // Those whose slots are still to come keep their part of the pools that they share.
  const coming = raises ? by('growing', 'short') : by('growing');
  const queue = [...ready, ...coming].map(
    ({ rings }) => new Set<string>(rings.map(({ pool }) => pool)),
  );
  const sharersOfAll = (index: number) => {
    const own = queue[index];
    return own === undefined ? 0 : sharersOf([own, ...queue.toSpliced(index, 1)], 0);
  };
  return {
    growth: raises ? growthOf(coming, wish.slots) : [],
    weeks: missingWeeks(state, wish.weeks),
    listings: ready.map((basket, index) => ({
      basket,
      sharers: sharersOf(queue, index),
      statedCap: capOfDepth(basket.depthCap ?? 0n, sharersOfAll(index)),
    })),
  };
}

function growthOf(baskets: readonly CoverBasket[], slots: number): ProtocolPlan['growth'] {
  const rings = new Map(baskets.flatMap((basket) => basket.rings.map((ring) => [ring.pool, ring])));
  return [...rings.values()].flatMap(({ pool, slotsNext }) => growthSteps(pool, slotsNext, slots));
}

/** Those of the next `count` weeks that come after the last published one, as far ahead as the market takes them. */
export function missingWeeks(
  { now, lastWeek }: Pick<CoverState, 'now' | 'lastWeek'>,
  count: number,
): CoverWeekTimes[] {
  const first = now + Number(COVER_CUTOFF + COVER_PUBLISH_LEAD) + PUBLISH_MARGIN;
  const last = now + Number(COVER_PUBLISH_AHEAD);
  return coverWeeks(first, count)
    .filter(({ close }) => close <= last && (lastWeek === null || close > lastWeek.settle))
    .map(({ close, settle }) => ({ close, settle }));
}

/** The calls that list at caps which hold together; those that it leaves below the least are left out. */
export function statedListings({ listings }: CoverPlan): CoverListing[] {
  return listings.filter(({ statedCap }) => statedCap >= MIN_COVER_USD);
}
