/**
 * What anyone may execute on the cover market now: close and settle snapshots, voids of weeks whose snapshot was
 * missed, payouts in batches (wire.md, Cover payouts for keepers).
 *
 * Steps come from the market's own views, since a snapshot has an hour and must not wait for an index; positions come
 * from the index. Each is then run within an aggregated call: what is announced has passed there, with the fee that it
 * paid, in the order in which it is announced.
 */
import type { Address } from 'viem';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { planBlockTime } from '../../runtime/chain/block-time.ts';
import { ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import {
  type CoverWork,
  type PayoutType,
  planRun,
  POSITIONS_PER_PAYOUT,
  type Run,
  RUNS_PER_CALL,
  stepId,
  toldOf,
} from '../../runtime/cover/cover-work.ts';
import {
  type CoverOutcome,
  isOver,
  outcomeOf,
  stepDue,
  type WeekTimes,
} from '../../runtime/cover/steps-due.ts';
import { type DueMarket, payoutTurns } from '../../runtime/cover/payout-turns.ts';
import { ScanBoard } from '../jobs/board.ts';
import type { Service } from '../service.ts';

/** `feeUsdg`: USDG base units that its executor gets. */
export type Payout = CoverWork & { contract: Address; ticker: string; feeUsdg: bigint };

type Skipped = { type: PayoutType; id: bigint; reason: string };

export type PayoutScan = {
  /** The block's time, unix seconds. */
  chainTime: number;
  payouts: readonly Payout[];
  skipped: readonly Skipped[];
};

const MAX_POSITIONS = 400;
const MAX_STEPS = 200;
const SCAN_DEADLINE_MS = 10_000;

type MarketState = { outcome: CoverOutcome; sold: boolean; soldUsd: bigint };
type LiveMarket = { week: number; vault: Address; times: WeekTimes; state: MarketState };

/** The board that `/v1/cover/payouts` is answered from. */
export function payoutBoard(service: Service): ScanBoard<PayoutScan> {
  const scanner = new PayoutScanner(service);
  return new ScanBoard({
    run: (signal) => scanner.scan(signal),
    version: () => `${service.marks.snapshot().version}:${service.indexer.generation}`,
    outOfReach: () => service.marks.outOfReach(),
    deadlineMs: SCAN_DEADLINE_MS,
  });
}

class PayoutScanner {
  readonly #service: Service;
  /** Markets of which nothing is left to do, so that years of them cost nothing. */
  readonly #over = new Set<string>();
  /** Of the rows that these were judged by. */
  #epoch: string | null = null;

  constructor(service: Service) {
    this.#service = service;
  }

  /** @throws ApiError UPSTREAM; what the store throws; the signal's reason once it is aborted. */
  async scan(signal: AbortSignal): Promise<PayoutScan> {
    const { chainTime, feePool, markets } = await this.#readMarkets(signal);
    const work: CoverWork[] = [];
    for (const { week, vault, times, state } of markets) {
      const step = stepDue(state, times, chainTime);
      if (step !== null)
        work.push({ type: step, id: stepId(week, vault), vault, week, positions: [] });
    }
    const urgentFirst = work.toSorted(
      (a, b) => Number(a.type === 'void') - Number(b.type === 'void') || a.week - b.week,
    );
    const steps = urgentFirst.slice(0, MAX_STEPS);
    const payouts = await this.#unpaid(markets, chainTime);
    const runs = await this.#run([...steps, ...payouts], signal);
    return { chainTime, ...this.#announce(runs, feePool) };
  }

  /** Every basket's week that is past its close and not yet over. */
  async #readMarkets(
    signal: AbortSignal,
  ): Promise<{ chainTime: number; feePool: bigint; markets: LiveMarket[] }> {
    const { client, deployment } = this.#service;
    const market = { to: deployment.coverMarket, abi: coverMarketAbi } as const;
    const batch = new ReadBatch();
    const time = planBlockTime(batch, deployment);
    const pool = batch.add({ ...market, functionName: 'feePool', args: [] });
    const published = batch.add({ ...market, functionName: 'publishedWeeks', args: [] });
    const listed = batch.add({ ...market, functionName: 'coverVaults', args: [] });
    await batch.send(client, deployment.multicall3);
    const vaults = required(listed, 'the cover baskets');
    signal.throwIfAborted();

    const second = new ReadBatch();
    const chainTime = time();
    const reads = required(published, 'the weeks of cover')
      // A week's id is its close / 7 days: what has not begun cannot be due.
      .filter((week) => week * 7 * 86_400 <= chainTime)
      .flatMap((week) => {
        const live = vaults.filter((vault) => !this.#over.has(keyOf(week, vault)));
        if (live.length === 0) return [];
        const times = second.add({ ...market, functionName: 'weekOf', args: [week] });
        return live.map((vault) => ({
          week,
          vault,
          times,
          state: second.add({ ...market, functionName: 'marketOf', args: [week, vault] }),
        }));
      });
    if (reads.length > 0) await second.send(client, deployment.multicall3);
    const markets = reads.map(({ week, vault, times, state }): LiveMarket => {
      const { close, settle } = required(times, 'a week of cover');
      const { outcome, soldUsd } = required(state, 'a market of cover');
      return {
        week,
        vault,
        times: { close, settle },
        state: { outcome: outcomeOf(outcome), sold: soldUsd > 0n, soldUsd },
      };
    });
    return { chainTime, feePool: required(pool, 'the pool of cover fees'), markets };
  }

  /** Batches of positions of weeks with an outcome; marks as over what has none left. */
  async #unpaid(markets: readonly LiveMarket[], chainTime: number): Promise<CoverWork[]> {
    const { unpaid, indexer } = this.#service;
    const epoch = await unpaid.epoch();
    if (epoch !== this.#epoch) this.#over.clear();
    this.#epoch = epoch;
    const due: DueMarket[] = [];
    for (const { week, vault, times, state } of markets) {
      const final = state.outcome === 'settled' || state.outcome === 'void';
      const found = final ? await unpaid.of(week, vault, MAX_POSITIONS) : [];
      if (found.length > 0) {
        due.push({ week, vault, settled: state.outcome === 'settled', positions: found });
      } else if (indexer.caughtUp && isOver(state, times, chainTime)) {
        // An index that is still reading the chain, or stands still, may not know its positions yet.
        if ((await unpaid.soldUsd(week, vault)) === state.soldUsd) {
          this.#over.add(keyOf(week, vault));
        }
      }
    }
    return payoutTurns(due, MAX_POSITIONS / POSITIONS_PER_PAYOUT);
  }

  /** Runs everything on the chain's newest state, in order; nothing of it stays. */
  async #run(work: readonly CoverWork[], signal: AbortSignal): Promise<Run[]> {
    const { client, deployment } = this.#service;
    const runs: Run[] = [];
    for (let start = 0; start < work.length; start += RUNS_PER_CALL) {
      signal.throwIfAborted();
      const batch = new ReadBatch();
      const planned = work
        .slice(start, start + RUNS_PER_CALL)
        .map((item) => planRun(batch, deployment.coverMarket, item));
      await batch.send(client, deployment.multicall3);
      runs.push(...planned.map((run) => run()));
    }
    return runs;
  }

  #announce(
    runs: readonly Run[],
    feePool: bigint,
  ): { payouts: readonly Payout[]; skipped: readonly Skipped[] } {
    const catalog = this.#service.marks.catalog();
    const payouts: Payout[] = [];
    const skipped: Skipped[] = [];
    let left = feePool;
    for (const { work, outcome } of runs) {
      const ticker = catalog.byVault(work.vault)?.ticker;
      if (outcome.tag === 'failed') {
        skipped.push({ type: work.type, id: work.id, reason: outcome.reason });
      } else if (ticker === undefined) {
        skipped.push({ type: work.type, id: work.id, reason: 'its basket is not in the registry' });
      } else if (outcome.tag === 'passed') {
        // A payout brings its own fee into the pool; the steps share what is in it.
        const feeUsdg = work.type === 'payout' ? outcome.reward : least(outcome.reward, left);
        if (work.type !== 'payout') left -= feeUsdg;
        const contract = this.#service.deployment.coverMarket;
        payouts.push({ ...toldOf(work, outcome.positions), contract, ticker, feeUsdg });
      }
    }
    return { payouts, skipped };
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function keyOf(week: number, vault: Address): string {
  return `${week}:${vault}`;
}
