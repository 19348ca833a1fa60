/** The cover market's part of a deployment: its calendar, and the baskets that it may sell cover of. */
import type { Address, LocalAccount } from 'viem';
import {
  COVER_CUTOFF,
  COVER_PUBLISH_LEAD,
  MIN_COVER_USD,
} from '../../../contracts-abi/constants.ts';
import { coverWeeks } from '../../../contracts-abi/cover-calendar.ts';
import { coverMarketAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import type { Submitter } from '../submitter.ts';
import type { BasketPlan } from './plan.ts';

/** Seconds that the first published week keeps above the market's own lead: blocks take a while. */
export const PUBLISH_MARGIN = 3_600;
/** Part of the cap that a basket's pools carry: it follows their prices until the listing is mined. */
export const COVER_CAP_PERCENT = 90n;

export async function publishWeeks(
  client: ReadClient,
  submitter: Submitter,
  account: LocalAccount,
  coverMarket: Address,
  count: number,
): Promise<void> {
  if (count === 0) return;
  const from = await submitter.decide(
    'first week',
    async () => {
      const { timestamp } = await client.getBlock();
      return Number(timestamp + COVER_CUTOFF + COVER_PUBLISH_LEAD) + PUBLISH_MARGIN;
    },
    Math.floor(Date.now() / 1_000) + 2 * 86_400,
  );
  const times = coverWeeks(from, count).map(({ close, settle }) => ({ close, settle }));
  await submitter.write(account, {
    address: coverMarket,
    abi: coverMarketAbi,
    functionName: 'publishWeeks',
    args: [times],
  });
}

/** How many of the cover baskets still to be listed, this one included, hang on a pool of this one. */
export function coverSharers(baskets: readonly BasketPlan[], index: number): number {
  const pools = baskets.map(({ constituents, cover }) =>
    cover
      ? constituents.flatMap(({ pool, viaWeth }) => [
          ...(pool === null ? [] : [pool]),
          ...(viaWeth ? ['WETH'] : []),
        ])
      : [],
  );
  return sharersOf(
    pools.map((list) => new Set(list)),
    index,
  );
}

/**
 * How many of the sets from `index` on, that one included, have a pool of its own: what one basket takes of a pool, the
 * next has not. Never below one.
 */
export function sharersOf(pools: readonly ReadonlySet<string>[], index: number): number {
  const own = pools[index] ?? new Set();
  const sharing = pools.slice(index).filter((set) => [...set].some((pool) => own.has(pool)));
  return Math.max(1, sharing.length);
}

/** Under which name a journal keeps a listing's cap. */
export const capDecision = (ticker: string): string => `cover cap of ${ticker}`;

/** Leaves a basket out whose pools carry less than the least cover. */
export async function listCover(
  client: ReadClient,
  submitter: Submitter,
  account: LocalAccount,
  coverMarket: Address,
  ticker: string,
  vault: Address,
  sharers: number,
): Promise<void> {
  const cap = await submitter.decide(
    capDecision(ticker),
    async () => {
      const most = await client.readContract({
        address: coverMarket,
        abi: coverMarketAbi,
        functionName: 'depthCapOf',
        args: [vault],
      });
      return Number((most * COVER_CAP_PERCENT) / (100n * BigInt(sharers)));
    },
    Number(MIN_COVER_USD),
  );
  if (BigInt(cap) < MIN_COVER_USD) return;
  await submitter.write(account, {
    address: coverMarket,
    abi: coverMarketAbi,
    functionName: 'listVault',
    args: [vault, BigInt(cap)],
    gas: 1_000_000n,
  });
  // The next basket's cap depends on what this one has taken of the pools.
  await submitter.flush();
}
