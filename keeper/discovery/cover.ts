/** The steps and payouts of the cover market that are due, each run within an aggregated call before it is told. */
import { type Address, getAddress, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { ReadBatch } from '../../runtime/chain/read-batch.ts';
import {
  type CoverWork,
  payoutData,
  planRun,
  type Run,
  RUNS_PER_CALL,
  stepId,
  toldOf,
} from '../../runtime/cover/cover-work.ts';
import { type DueMarket, type DuePosition, payoutTurns } from '../../runtime/cover/payout-turns.ts';
import { isOver, stepDue } from '../../runtime/cover/steps-due.ts';
import type { ListedPayout } from '../source/payout.ts';
import type { Look, MarketNow, Placed } from './look.ts';

/** In one answer; the rest comes with the next ones. */
const MAX_STEPS = 60;
const MAX_PAYOUTS = 20;

const marketKey = (week: number, vault: Address): string => `${week}:${vault.toLowerCase()}`;

/**
 * Markets to ask for at `time` (unix seconds): a week's id is its close / 7 days, so what has not begun is not due. One
 * that was over is not where it has a position to pay: a reorg undid its payout.
 */
export function marketsUnderWay(
  look: Pick<Look, 'weeks' | 'coverVaults' | 'time'>,
  over: ReadonlySet<string>,
  unpaid: Iterable<Pick<Placed, 'week' | 'vault'>> = [],
): { week: number; vault: Address }[] {
  const waiting = new Set([...unpaid].map(({ week, vault }) => marketKey(week, vault)));
  return look.weeks
    .filter((week) => week * 7 * 86_400 <= look.time)
    .flatMap((week) => look.coverVaults.map((vault) => ({ week, vault })))
    .filter(({ week, vault }) => {
      const key = marketKey(week, vault);
      return waiting.has(key) || !over.has(key);
    });
}

/** Work that the markets wait for: voids behind the other steps, which have an hour; then payouts. Pure. */
export function dueCover(
  markets: readonly MarketNow[],
  unpaid: ReadonlyMap<bigint, Omit<Placed, 'paid'>>,
  time: number,
): CoverWork[] {
  const steps = markets.flatMap(({ week, vault, times, state }): CoverWork[] => {
    const type = stepDue(state, times, time);
    return type === null ? [] : [{ type, id: stepId(week, vault), vault, week, positions: [] }];
  });
  const urgentFirst = steps.toSorted(
    (a, b) => Number(a.type === 'void') - Number(b.type === 'void') || a.week - b.week,
  );
  const byMarket = new Map<string, DuePosition[]>();
  for (const [id, { week, vault, fee, coverUsd }] of unpaid) {
    const key = marketKey(week, vault);
    const own = byMarket.get(key);
    if (own === undefined) byMarket.set(key, [{ id, fee, coverUsd }]);
    else own.push({ id, fee, coverUsd });
  }
  const due = markets
    .filter(({ state }) => state.outcome === 'settled' || state.outcome === 'void')
    .map(({ week, vault, state }): DueMarket => {
      const positions = byMarket.get(marketKey(week, vault)) ?? [];
      return { week, vault, settled: state.outcome === 'settled', positions };
    });
  return [...urgentFirst.slice(0, MAX_STEPS), ...payoutTurns(due, MAX_PAYOUTS)];
}

/** Adds markets of which nothing is left to do, so that years of them cost nothing. */
export function noteOver(
  over: Set<string>,
  markets: readonly MarketNow[],
  unpaid: ReadonlyMap<bigint, Pick<Placed, 'week' | 'vault'>>,
  time: number,
): void {
  const waiting = new Set([...unpaid.values()].map(({ week, vault }) => marketKey(week, vault)));
  for (const { week, vault, times, state } of markets) {
    const key = marketKey(week, vault);
    if (!waiting.has(key) && isOver(state, times, time)) over.add(key);
  }
}

/**
 * Runs the work on the newest state, in order; what passes is listed with the fee that it paid there.
 * `doubtful`: positions that have nothing to pay here: paid, or on a node that lags behind. @throws ApiError UPSTREAM.
 */
export async function runCover(
  client: PublicClient,
  deployment: Deployment,
  work: readonly CoverWork[],
  feePool: bigint,
  tickerOf: (vault: Address) => string | null,
): Promise<{ payouts: ListedPayout[]; doubtful: bigint[] }> {
  const runs: Run[] = [];
  for (let start = 0; start < work.length; start += RUNS_PER_CALL) {
    const batch = new ReadBatch();
    const planned = work
      .slice(start, start + RUNS_PER_CALL)
      .map((item) => planRun(batch, deployment.coverMarket, item));
    await batch.send(client, deployment.multicall3);
    runs.push(...planned.map((run) => run()));
  }
  const doubtful: bigint[] = [];
  let left = feePool;
  const payouts = runs.flatMap(({ work, outcome }): ListedPayout[] => {
    if (work.type === 'payout' && outcome.tag === 'done') doubtful.push(...work.positions);
    if (outcome.tag !== 'passed') return [];
    const { reward, positions } = outcome;
    if (work.type === 'payout') {
      const pays = new Set(positions);
      doubtful.push(...work.positions.filter((id) => !pays.has(id)));
    }
    // A payout brings its own fee into the pool; the steps share what is in it.
    const feeUsdg = work.type === 'payout' || reward < left ? reward : left;
    if (work.type !== 'payout') left -= feeUsdg;
    const told = toldOf(work, positions);
    return [
      {
        type: work.type,
        contract: deployment.coverMarket,
        id: told.id.toString(),
        ticker: tickerOf(work.vault),
        vault: getAddress(work.vault),
        week: work.week,
        feeUsdg,
        tx: { to: deployment.coverMarket, data: payoutData(told), value: 0n },
      },
    ];
  });
  return { payouts, doubtful };
}
