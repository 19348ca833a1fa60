/** What extends a cover market, from what stands: slots to raise, weeks to publish, baskets to list. Pure. */
import { type Address, isAddressEqual, zeroAddress } from 'viem';
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
import { COVER_CAP_PERCENT, PUBLISH_MARGIN, sharersOf } from './cover-steps.ts';
import { DeployError } from './errors.ts';
import type { ProtocolPlan } from './plan.ts';

export type CoverWish = {
  /** Observation slots to raise pools to; below what a snapshot takes: none are raised. */
  slots: number;
  /** Weeks that shall be published from now on. */
  weeks: number;
  /** Tickers to list; null: all that may be. */
  only: readonly string[] | null;
};

export type CoverCommand = CoverWish & {
  /** USDG base units that the fee pool shall hold; zero: it is left as it is. */
  level: bigint;
  /** Gives up what an earlier run signed and no block has. */
  drop: boolean;
  dryRun: boolean;
  /** The operator says that a broken-off run was on this chain, of which the chain itself tells nothing. */
  sameChain: boolean;
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

/** Throws a DeployError for a ticker that the registry has not. */
export function planCover(state: CoverState, wish: CoverWish): CoverPlan {
  assertKnown(state, wish);
  // Slots lead nowhere either when nobody can list any more.
  if (isAddressEqual(state.owner, zeroAddress)) return { growth: [], weeks: [], listings: [] };
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

function assertKnown({ baskets }: CoverState, { only }: CoverWish): void {
  const known = new Set(baskets.map(({ ticker }) => ticker));
  const unknown = only?.filter((ticker) => !known.has(ticker)) ?? [];
  if (unknown.length === 0) return;
  throw new DeployError(
    `--only names no basket of the registry: ${unknown.join(', ')}. There are ${[...known].join(', ')}`,
  );
}

/** The steps that any key may send, and the owner's where it is the owner. */
export function partOf(plan: CoverPlan, { owner }: CoverState, sender: Address): CoverPlan {
  return isAddressEqual(owner, sender) ? plan : { ...plan, weeks: [], listings: [] };
}

/** What a basket may take of the pools that others hang on too, in words. */
export function shareWords(sharers: number): string {
  const part = `${COVER_CAP_PERCENT}% of what is left in its pools`;
  return sharers === 1 ? part : `its part of ${part}, which ${sharers} baskets share,`;
}

function growthOf(baskets: readonly CoverBasket[], slots: number): ProtocolPlan['growth'] {
  const rings = new Map(baskets.flatMap((basket) => basket.rings.map((ring) => [ring.pool, ring])));
  return [...rings.values()].flatMap(({ pool, slotsNext }) => growthSteps(pool, slotsNext, slots));
}

/**
 * Those of the next `count` weeks that come after the last published one, as far ahead as the market takes them. The
 * last one may be of other times, published by hand: the market takes no second one of its seven days, and none that
 * closes before it settles.
 */
export function missingWeeks(
  { now, lastWeek }: Pick<CoverState, 'now' | 'lastWeek'>,
  count: number,
): CoverWeekTimes[] {
  const first = now + Number(COVER_CUTOFF + COVER_PUBLISH_LEAD) + PUBLISH_MARGIN;
  const last = now + Number(COVER_PUBLISH_AHEAD);
  return coverWeeks(first, count)
    .filter(({ close }) => close <= last)
    .filter(({ id, close }) => lastWeek === null || (id > lastWeek.id && close > lastWeek.settle))
    .map(({ close, settle }) => ({ close, settle }));
}

/** The calls that list at caps which hold together; those that it leaves below the least are left out. */
export function statedListings({ listings }: CoverPlan): CoverListing[] {
  return listings.filter(({ statedCap }) => statedCap >= MIN_COVER_USD);
}
