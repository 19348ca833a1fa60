/** Fills of due orders and slots, each confirmed by its escrow and quoted in the pools at one block. */

import type { Address } from 'viem';
import type { Hex } from 'viem';
import { ReadBatch } from '../../runtime/chain/read-batch.ts';
import {
  type DueFill,
  type JobType,
  planFill,
  type SharedQuotes,
} from '../../runtime/quotes/fill-quote.ts';
import { encodeArm } from '../../runtime/quotes/order-call.ts';
import type { SwapCall } from '../../runtime/quotes/swap-call.ts';
import type { Basket } from '../catalog/catalog.ts';
import type { Service } from '../service.ts';
import type { Place } from './turns.ts';

export type { JobType } from '../../runtime/quotes/fill-quote.ts';

/** What the index says is due. */
export type Candidate = DueFill & { basket: Basket; place: Place };

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

/** One aggregated call. In the order of the candidates. @throws ApiError UPSTREAM. */
export async function quoteFills(
  service: Service,
  candidates: readonly Candidate[],
): Promise<FillQuote[]> {
  const { client, deployment, marks } = service;
  const batch = new ReadBatch();
  const shared: SharedQuotes = new Map();
  const pending = candidates.map((candidate) => {
    const { feeIndex, nav } = marks.markOf(candidate.basket);
    const now = { feeIndex, spotNav: nav };
    const quote = planFill(batch, deployment, candidate.basket, now, candidate, shared);
    return { candidate, quote };
  });
  await batch.send(client, deployment.multicall3);
  return pending.map(({ candidate, quote }): FillQuote => {
    const outcome = quote();
    if (outcome.tag === 'skip') return outcome;
    const { type, id, escrow, basket, slot } = candidate;
    const { feeUsdg, slippageBps, swaps } = outcome;
    const armData = encodeArm(id);
    const { ticker, vault } = basket;
    return {
      tag: 'job',
      job: {
        type,
        contract: escrow,
        id,
        ticker,
        vault,
        feeUsdg,
        slippageBps,
        slot,
        swaps,
        armData,
      },
    };
  });
}
