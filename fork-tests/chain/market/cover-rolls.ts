/**
 * Keeps the cover market's book of a running local chain alive: once a week is cut off, offers that repeat go on in the
 * week that trades then, and what is open of other listings goes back to its owner. The market lets anyone send both;
 * on a live chain whoever cares does, here nobody would, and every book would end with the weeks that were seeded.
 */
import type { Address, LocalAccount } from 'viem';
import { coverMarketAbi } from '../../../contracts-abi/generated/index.ts';
import { type ChainClient, reasonOf, write } from '../client.ts';

export type CoverRollsOptions = {
  client: ChainClient;
  /** Pays the gas. */
  account: LocalAccount;
  coverMarket: Address;
  /** The block of the deployment: no listing is older. */
  fromBlock: bigint;
  everyMs?: number;
  /** After each round that had something to do, and for each reason why something could not be done, once. */
  onRound?: (outcome: RollsOutcome) => void;
};

export type RollsOutcome =
  | { tag: 'rolled'; week: number; rolled: number; sentBack: number }
  | { tag: 'failed'; reason: string };

export type CoverRolls = {
  /** Resolves when the round under way, if any, has ended. */
  stop(): Promise<void>;
};

/** Transactions of one round; what is left is the next one's. */
const MOST_A_ROUND = 50;
/** Reads in one aggregated call. */
const READ_CHUNK = 200;

type Overdue = { id: bigint; repeats: boolean };

export function startCoverRolls(options: CoverRollsOptions): CoverRolls {
  const { everyMs = 2_000, onRound } = options;
  const ending = new AbortController();
  let round: Promise<void> | null = null;
  /** The week for which all is done: until another one trades there is nothing to look for. */
  let done: number | null = null;
  let lastReason: string | null = null;

  const fail = (error: unknown): void => {
    const reason = reasonOf(error);
    if (reason !== lastReason) onRound?.({ tag: 'failed', reason });
    lastReason = reason;
  };
  const run = async (): Promise<void> => {
    try {
      const week = await tradingWeek(options);
      if (week === null || week === done) return;
      const overdue = await overdueListings(options, week);
      let [rolled, sentBack] = [0, 0];
      for (const listing of overdue.slice(0, MOST_A_ROUND)) {
        if (ending.signal.aborted) return;
        try {
          await moveOn(options, listing);
          if (listing.repeats) rolled += 1;
          else sentBack += 1;
        } catch (error) {
          // expected: its owner or somebody else was quicker, or the market is paused; the next round looks again
          fail(error);
        }
      }
      if (rolled + sentBack > 0) onRound?.({ tag: 'rolled', week, rolled, sentBack });
      if (rolled + sentBack === overdue.length) [done, lastReason] = [week, null];
    } catch (error) {
      // expected while the node is stopped or busy: the next round tries again
      fail(error);
    }
  };
  const timer = setInterval(() => {
    // A slow node must not gather rounds.
    round ??= run().finally(() => {
      round = null;
    });
  }, everyMs);
  return {
    stop: async () => {
      ending.abort();
      clearInterval(timer);
      await round;
    },
  };
}

async function tradingWeek({ client, coverMarket }: CoverRollsOptions): Promise<number | null> {
  const [some, week] = await client.readContract({
    address: coverMarket,
    abi: coverMarketAbi,
    functionName: 'currentWeek',
  });
  return some ? week : null;
}

/** Listings with something open whose week is before the one that trades: those are cut off. */
async function overdueListings(
  { client, coverMarket, fromBlock }: CoverRollsOptions,
  current: number,
): Promise<Overdue[]> {
  const listed = await client.getContractEvents({
    address: coverMarket,
    abi: coverMarketAbi,
    eventName: 'Listed',
    fromBlock,
    strict: true,
  });
  const ids = listed.flatMap(({ args }) => (args.terms.week < current ? [args.id] : []));
  const overdue: Overdue[] = [];
  for (let from = 0; from < ids.length; from += READ_CHUNK) {
    const chunk = ids.slice(from, from + READ_CHUNK);
    const listings = await client.multicall({
      allowFailure: false,
      contracts: chunk.map(
        (id) =>
          ({
            address: coverMarket,
            abi: coverMarketAbi,
            functionName: 'listingOf',
            args: [id],
          }) as const,
      ),
    });
    for (const [index, { openUsd, repeats }] of listings.entries()) {
      const id = chunk[index];
      if (id !== undefined && openUsd > 0n) overdue.push({ id, repeats });
    }
  }
  return overdue;
}

async function moveOn(
  { client, account, coverMarket }: CoverRollsOptions,
  { id, repeats }: Overdue,
): Promise<void> {
  await write(client, account, {
    address: coverMarket,
    abi: coverMarketAbi,
    functionName: repeats ? 'roll' : 'sendBack',
    args: [id],
  });
}
