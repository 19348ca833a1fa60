/**
 * When the weeks of the cover market close and settle: a snapshot has an hour, so the loop is woken at these moments
 * whatever its pause, and the log says what is due.
 */
import type { Address, PublicClient } from 'viem';
import { setTimeout as delay } from 'node:timers/promises';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import type { Logger } from '../../runtime/logger.ts';
import { within } from '../../runtime/deadline.ts';

export type CoverMoment = { week: number; what: 'close' | 'settle'; atMs: number };

/** The moments after `nowMs` and at most `withinMs` away, earliest first. Pure. */
export function momentsAhead(
  moments: readonly CoverMoment[],
  nowMs: number,
  withinMs: number,
): CoverMoment[] {
  return moments
    .filter(({ atMs }) => atMs > nowMs && atMs <= nowMs + withinMs)
    .toSorted((a, b) => a.atMs - b.atMs);
}

/** Weeks that are read at a time: those after them come long before they close. */
const MOST_WEEKS = 8;
const WEEK_MS = 7 * 86_400_000;

/** Of the weeks that have not settled at `nowMs`, the earliest: months of them may be published ahead. */
export async function readCoverMoments(
  client: PublicClient,
  market: Address,
  timeoutMs: number,
  nowMs: number,
): Promise<CoverMoment[]> {
  const contract = { address: market, abi: coverMarketAbi } as const;
  const all = await within(
    client.readContract({ ...contract, functionName: 'publishedWeeks' }),
    timeoutMs,
    'publishedWeeks',
  );
  // A week's id is its close / 7 days, and it settles within days of that.
  const weeks = all
    .filter((week) => (week + 2) * WEEK_MS > nowMs)
    .toSorted((a, b) => a - b)
    .slice(0, MOST_WEEKS);
  const times = await within(
    client.multicall({
      allowFailure: false,
      contracts: weeks.map((week) => ({
        ...contract,
        functionName: 'weekOf' as const,
        args: [week] as const,
      })),
    }),
    timeoutMs,
    'weekOf',
  );
  return weeks.flatMap((week, index) => {
    const found = times[index];
    if (found === undefined) return [];
    return [
      { week, what: 'close' as const, atMs: found.close * 1_000 },
      { week, what: 'settle' as const, atMs: found.settle * 1_000 },
    ];
  });
}

/** A minute and a little: the runs of the clock are not to the millisecond. */
const LOOK_AHEAD_MS = 61_000;
const READ_EVERY_MS = 3_600_000;
/** After the moment: the block that makes it true must exist. */
const AFTER_MS = 1_000;

/**
 * What runs every minute: waits for each moment of the coming minute and wakes the loop just after it.
 * @param nudge ends the pause of the loop
 */
export function coverClock(options: {
  read: () => Promise<CoverMoment[]>;
  nudge: () => void;
  logger: Logger;
  now: () => number;
}): (signal: AbortSignal) => Promise<void> {
  const { read, nudge, logger, now } = options;
  let moments: CoverMoment[] = [];
  let readMs: number | null = null;
  return async (signal) => {
    if (readMs === null || now() - readMs >= READ_EVERY_MS) {
      moments = await read();
      readMs = now();
    }
    for (const { week, what, atMs } of momentsAhead(moments, now(), LOOK_AHEAD_MS)) {
      try {
        await delay(Math.max(0, atMs + AFTER_MS - now()), undefined, { signal });
      } catch {
        // Expected: the process stops.
        return;
      }
      logger.info({ week, what }, 'a week of the cover market is due for its snapshots');
      nudge();
    }
  };
}
