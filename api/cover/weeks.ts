/** The market's calendar now: published weeks, the one that trades, and what may be sold of a basket (ICoverMarket). */
import type { Address } from 'viem';
import { COVER_CUTOFF, COVER_WEEKS_AHEAD } from '../../contracts-abi/constants.ts';
import { coverMarketAbi, protocolPauseAbi } from '../../contracts-abi/generated/index.ts';
import { planBlockTime } from '../../runtime/chain/block-time.ts';
import { ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import { ApiError } from '../../runtime/errors.ts';
import type { Service } from '../service.ts';

/** Times in unix seconds. `tradingOpen` does not see a pause. */
export type TradingWeek = {
  id: number;
  close: number;
  settle: number;
  cutoffAt: number;
  tradingOpen: boolean;
};

export type Calendar = {
  /** The block's time. */
  now: number;
  paused: boolean;
  /** The week trading now and those open ahead of it. */
  weeks: readonly TradingWeek[];
  /** Baskets with a cover market. */
  vaults: readonly Address[];
};

/** Weeks are published once and never changed; what a reorganised chain publishes anew is read again until it is over. */
export class CoverCalendar {
  readonly #service: Pick<Service, 'client' | 'deployment'>;
  readonly #known = new Map<number, { close: number; settle: number }>();
  #now = 0;

  constructor(service: Pick<Service, 'client' | 'deployment'>) {
    this.#service = service;
  }

  /** One round trip, two where weeks were published since. @throws ApiError UPSTREAM. */
  async read(): Promise<Calendar> {
    const { client, deployment } = this.#service;
    const market = { to: deployment.coverMarket, abi: coverMarketAbi } as const;
    const batch = new ReadBatch();
    const time = planBlockTime(batch, deployment);
    const published = batch.add({ ...market, functionName: 'publishedWeeks', args: [] });
    const vaults = batch.add({ ...market, functionName: 'coverVaults', args: [] });
    const pause = { to: deployment.pause, abi: protocolPauseAbi } as const;
    const paused = batch.add({ ...pause, functionName: 'paused', args: [] });
    const running = [...this.#known].flatMap(([id, { settle }]) =>
      settle > this.#now ? [id] : [],
    );
    const learnt = this.#planTimes(batch, running);
    await batch.send(client, deployment.multicall3);
    learnt();
    const ids = required(published, 'the weeks of cover');
    const unknown = ids.filter((id) => !this.#known.has(id));
    if (unknown.length > 0) {
      const second = new ReadBatch();
      const learn = this.#planTimes(second, unknown);
      await second.send(client, deployment.multicall3);
      learn();
    }
    this.#now = time();
    return {
      now: this.#now,
      paused: required(paused, 'the pause'),
      weeks: this.#trading(ids, this.#now),
      vaults: required(vaults, 'the cover baskets'),
    };
  }

  /** As published; null for a week that was not when the calendar was read last. */
  timesOf(week: number): { close: number; settle: number } | null {
    return this.#known.get(week) ?? null;
  }

  #planTimes(batch: ReadBatch, ids: readonly number[]): () => void {
    const market = { to: this.#service.deployment.coverMarket, abi: coverMarketAbi } as const;
    const reads = ids.map((id) => ({
      id,
      times: batch.add({ ...market, functionName: 'weekOf', args: [id] }),
    }));
    return () => {
      for (const { id, times } of reads) {
        const { close, settle } = required(times, 'a week of cover');
        if (close > 0) this.#known.set(id, { close, settle });
        else this.#known.delete(id);
      }
    };
  }

  /** CoverCalendar.tradingOpen: the first whose cutoff is ahead, and COVER_WEEKS_AHEAD more. */
  #trading(ids: readonly number[], now: number): TradingWeek[] {
    const open = ids.flatMap((id) => {
      const times = this.#known.get(id);
      if (times === undefined) return [];
      const cutoffAt = times.close - Number(COVER_CUTOFF);
      return now < cutoffAt ? [{ id, ...times, cutoffAt, tradingOpen: true }] : [];
    });
    return open.slice(0, Number(COVER_WEEKS_AHEAD) + 1);
  }
}

/** The week asked for, or the one that trades now. @throws ApiError COVER_CLOSED. */
export function tradingWeek({ weeks }: Calendar, asked: number | undefined): TradingWeek {
  const found = asked === undefined ? weeks[0] : weeks.find(({ id }) => id === asked);
  if (found !== undefined) return found;
  const open = weeks.map(({ id }) => id).join(', ');
  throw new ApiError(
    'COVER_CLOSED',
    weeks.length === 0
      ? 'no week of the cover market trades now'
      : `week ${asked ?? ''} does not trade now: ${open} do`,
  );
}

/** @throws ApiError COVER_CLOSED for a basket without a cover market. */
export function requireCoverBasket(
  { vaults }: Calendar,
  { vault, ticker }: { vault: Address; ticker: string },
): void {
  if (vaults.some((each) => each.toLowerCase() === vault.toLowerCase())) return;
  throw new ApiError(
    'COVER_CLOSED',
    `${ticker} has no cover market: /v1/cover/weeks names the baskets that have one`,
  );
}
