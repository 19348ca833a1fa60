/**
 * The jobs that anyone may execute now: triggered exits and limit buys, each with real swaps at current quotes.
 * Triggers are first checked in memory against the marks, then on chain together with the quotes.
 */
import { type Address, encodeFunctionData, type Hex, zeroAddress } from 'viem';
import { executorFee, limitGrossWithin, mintFee } from '../../contracts-abi/fill-pricing.ts';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import type { Basket } from '../catalog/catalog.ts';
import { optional, type Pending, ReadBatch } from '../chain/read-batch.ts';
import type { Order } from '../orders/order-index.ts';
import { type NoRoute, planBudgetBuy, planSell } from '../quotes/basket-quote.ts';
import type { SwapCall } from '../quotes/swap-call.ts';
import type { Service } from '../service.ts';
import { isExpired, triggerHolds } from './trigger.ts';

type JobType = 'sell' | 'limit';

/** A job without its transaction's executor, which each request names. */
export type Job = {
  type: JobType;
  contract: Address;
  id: Hex;
  ticker: string | null;
  vault: Address;
  /** Executor fee of a fill at this quote, USDG base units. */
  feeUsdg: bigint;
  /** The order's tolerance now. */
  slippageBps: number;
  swaps: readonly SwapCall[];
  armData: Hex;
};

type Skipped = { type: JobType; id: Hex; reason: string };

export type Scan = {
  /** The block's time, unix seconds. */
  chainTime: number;
  jobs: readonly Job[];
  skipped: readonly Skipped[];
};

/** Bounds one answer; the oldest orders come first, and what does not fit says so. */
const MAX_JOBS = 200;
const MAX_SKIPPED = 500;
/** Reads of one aggregated call stay within what public nodes let a call burn. */
const ORDERS_PER_READ = 8;

type FillQuote = { gross: bigint; swaps: readonly SwapCall[] };

type Candidate = { order: Order; basket: Basket };

function typeOf(order: Order): JobType {
  return order.kind === 'exit' ? 'sell' : 'limit';
}

/** @throws ApiError UPSTREAM. */
export async function scanJobs(service: Service): Promise<Scan> {
  const { marks, orders } = service;
  const snapshot = marks.snapshot();
  const catalog = marks.catalog();
  const skipped: Skipped[] = [];
  const candidates: Candidate[] = [];
  const skip = (order: Order, reason: string) => {
    if (skipped.length < MAX_SKIPPED) skipped.push({ type: typeOf(order), id: order.id, reason });
  };

  for (const order of await orders.open()) {
    const basket = catalog.byVault(order.vault);
    const mark = snapshot.marks.get(order.vault);
    if (basket === null || mark === undefined) {
      skip(order, 'its basket is not in the registry');
    } else if (isExpired(order, snapshot.chainTime)) {
      skip(order, 'expired: it can only be sent back to its owner');
    } else if (!mark.reference.ok) {
      // Only what would be due otherwise is worth a line: at the last price we know.
      if (mark.nav !== null && triggerHolds(order, mark.nav)) {
        skip(order, `no valid 10-minute average NAV now (${mark.reference.reason})`);
      }
    } else if (triggerHolds(order, mark.reference.nav)) {
      if (snapshot.paused) skip(order, 'the protocol is paused');
      else if (candidates.length >= MAX_JOBS)
        skip(order, `more than ${MAX_JOBS} are due: asked later`);
      else candidates.push({ order, basket });
    }
  }

  const jobs: Job[] = [];
  for (let start = 0; start < candidates.length; start += ORDERS_PER_READ) {
    const chunk = candidates.slice(start, start + ORDERS_PER_READ);
    for (const outcome of await quoteFills(service, chunk)) {
      if (outcome.tag === 'job') jobs.push(outcome.job);
      else skip(outcome.order, outcome.reason);
    }
  }
  return { chainTime: snapshot.chainTime, jobs, skipped };
}

type Outcome = { tag: 'job'; job: Job } | { tag: 'skip'; order: Order; reason: string };

async function quoteFills(service: Service, candidates: readonly Candidate[]): Promise<Outcome[]> {
  const batch = new ReadBatch();
  const pending = candidates.map((candidate) => ({
    candidate,
    ...planFill(batch, service, candidate),
  }));
  await batch.send(service.client, service.deployment.multicall3);
  return pending.map(({ candidate, triggered, tolerance, quoted }): Outcome => {
    const { order, basket } = candidate;
    const [holds] = optional(triggered) ?? [false];
    if (!holds) return { tag: 'skip', order, reason: 'not triggered at this block' };
    const quote = quoted();
    if ('tag' in quote) {
      return { tag: 'skip', order, reason: `${quote.symbol} has no route for this amount` };
    }
    return {
      tag: 'job',
      job: {
        type: typeOf(order),
        contract: order.escrow,
        id: order.id,
        ticker: basket.ticker,
        vault: order.vault,
        feeUsdg: executorFee(quote.gross),
        slippageBps: optional(tolerance) ?? 0,
        swaps: quote.swaps,
        armData: encodeFunctionData({ abi: exitEscrowAbi, functionName: 'arm', args: [order.id] }),
      },
    };
  });
}

function planFill(
  batch: ReadBatch,
  service: Service,
  { order, basket }: Candidate,
): {
  triggered: Pending<readonly [boolean, bigint]>;
  tolerance: Pending<number>;
  quoted: () => FillQuote | NoRoute;
} {
  const { deployment, marks } = service;
  const mark = marks.markOf(basket);
  const now = { feeIndex: mark.feeIndex, spotNav: mark.nav };
  const escrow = { to: order.escrow, abi: exitEscrowAbi } as const;
  const triggered = batch.add({ ...escrow, functionName: 'triggered', args: [order.id] });
  const tolerance = batch.add({ ...escrow, functionName: 'toleranceBps', args: [order.id] });
  if (order.kind === 'exit') {
    const quoted = planSell(batch, deployment, basket, now, order.amount);
    return { triggered, tolerance, quoted: () => plain(quoted()) };
  }
  const gross = limitGrossWithin(order.amount);
  const quoted = planBudgetBuy(batch, deployment, basket, now, gross + mintFee(gross));
  return { triggered, tolerance, quoted: () => plain(quoted()) };
}

function plain(
  quote: NoRoute | { tag: 'quoted'; gross: bigint; swaps: readonly SwapCall[] },
): FillQuote | NoRoute {
  return quote.tag === 'no_route' ? quote : { gross: quote.gross, swaps: quote.swaps };
}

/** Calldata of a fill that pays `executor`; the zero address means whoever sends it. */
export function fillData(job: Job, executor: Address = zeroAddress): Hex {
  return encodeFunctionData({
    abi: exitEscrowAbi,
    functionName: 'fill',
    args: [job.id, job.swaps, executor],
  });
}
