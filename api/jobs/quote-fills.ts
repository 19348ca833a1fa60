/** Fills of due orders and slots, each confirmed by its escrow and quoted in the pools at one block. */

import type { Address } from 'viem';
import { encodeFunctionData, type Hex } from 'viem';
import { executorFee, limitGrossWithin, mintFee } from '../../contracts-abi/fill-pricing.ts';
import { exitEscrowAbi, scheduleEscrowAbi } from '../../contracts-abi/generated/index.ts';
import type { Basket } from '../catalog/catalog.ts';
import { optional, ReadBatch } from '../chain/read-batch.ts';
import { type NoRoute, planBudgetBuy, planSell } from '../quotes/basket-quote.ts';
import type { SwapCall } from '../quotes/swap-call.ts';
import type { Service } from '../service.ts';
import type { Place } from './turns.ts';

export type JobType = 'sell' | 'limit' | 'schedule';

/** What the index says is due. */
export type Candidate = {
  type: JobType;
  id: Hex;
  escrow: Address;
  basket: Basket;
  /** What a fill uses: shares of a sell; USDG all-in of a limit or of a slot. */
  amount: bigint;
  /** The slot that a schedule's amount is of. */
  slot: number | null;
  place: Place;
};

/** A job without its transaction's executor, which each request names. */
export type Job = {
  type: JobType;
  contract: Address;
  id: Hex;
  ticker: string;
  vault: Address;
  /** Executor fee of a fill at this quote, USDG base units. */
  feeUsdg: bigint;
  /** The order's tolerance now. */
  slippageBps: number;
  slot: number | null;
  swaps: readonly SwapCall[];
  armData: Hex;
};

export type FillQuote = { tag: 'job'; job: Job } | { tag: 'skip'; reason: string };

type Quoted = { tag: 'quoted'; gross: bigint; swaps: readonly SwapCall[] };

/** One aggregated call. In the order of the candidates. @throws ApiError UPSTREAM. */
export async function quoteFills(
  service: Service,
  candidates: readonly Candidate[],
): Promise<FillQuote[]> {
  const batch = new ReadBatch();
  const pending = candidates.map((candidate) => planFill(batch, service, candidate));
  await batch.send(service.client, service.deployment.multicall3);
  return pending.map((outcome) => outcome());
}

function planFill(batch: ReadBatch, service: Service, candidate: Candidate): () => FillQuote {
  const { type, id, basket, slot } = candidate;
  // All three escrows share this part of their interface (IOrderEscrow).
  const escrow = { to: candidate.escrow, abi: exitEscrowAbi } as const;
  const triggered = batch.add({ ...escrow, functionName: 'triggered', args: [id] });
  const tolerance = batch.add({ ...escrow, functionName: 'toleranceBps', args: [id] });
  const slotThere = slot === null ? null : planSlot(batch, candidate);
  const quoted = planQuote(batch, service, candidate);
  return () => {
    const [holds] = optional(triggered) ?? [false];
    if (!holds) return { tag: 'skip', reason: 'not triggered at this block' };
    // Between the marks and this block the next slot began: its own turn comes with the next scan.
    if (slotThere !== null && slotThere() !== slot) {
      return { tag: 'skip', reason: 'not triggered at this block: its slot is over' };
    }
    const quote = quoted();
    if (quote.tag === 'no_route') {
      return { tag: 'skip', reason: `${quote.symbol} has no route for this amount` };
    }
    const feeUsdg = executorFee(quote.gross);
    if (feeUsdg === 0n) return { tag: 'skip', reason: 'dust: a fill would pay no fee' };
    return {
      tag: 'job',
      job: {
        type,
        contract: candidate.escrow,
        id,
        ticker: basket.ticker,
        vault: basket.vault,
        feeUsdg,
        slippageBps: optional(tolerance) ?? 0,
        slot,
        swaps: quote.swaps,
        armData: encodeFunctionData({ abi: exitEscrowAbi, functionName: 'arm', args: [id] }),
      },
    };
  };
}

/** The slot of the block, null where none is due. */
function planSlot(batch: ReadBatch, { escrow, id }: Candidate): () => number | null {
  const pending = batch.add({
    to: escrow,
    abi: scheduleEscrowAbi,
    functionName: 'slotNow',
    args: [id],
  });
  return () => {
    const [due, slot] = optional(pending) ?? [false, 0];
    return due ? slot : null;
  };
}

function planQuote(
  batch: ReadBatch,
  { deployment, marks }: Service,
  { type, basket, amount }: Candidate,
): () => Quoted | NoRoute {
  const mark = marks.markOf(basket);
  const now = { feeIndex: mark.feeIndex, spotNav: mark.nav };
  if (type === 'sell') return planSell(batch, deployment, basket, now, amount);
  const gross = limitGrossWithin(amount);
  return planBudgetBuy(batch, deployment, basket, now, gross + mintFee(gross));
}
