/** One fill of a due order or slot, confirmed by its escrow and quoted in the pools at the block of its batch. */
import type { Address, Hex } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { executorFee, limitGrossWithin, mintFee } from '../../contracts-abi/fill-pricing.ts';
import { exitEscrowAbi, scheduleEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { optional, type ReadBatch } from '../chain/read-batch.ts';
import { type NoRoute, type Now, planBudgetBuy } from './basket-quote.ts';
import type { QuotedBasket } from './quoted-basket.ts';
import { planSell } from './sell-quote.ts';
import type { SwapCall } from './swap-call.ts';

export type JobType = 'sell' | 'limit' | 'schedule';

/** What an index says is due. */
export type DueFill = {
  type: JobType;
  id: Hex;
  escrow: Address;
  /** What a fill uses: shares of a sell; USDG all-in of a limit or of a slot. */
  amount: bigint;
  /** The slot that a schedule's amount is of. */
  slot: number | null;
};

export type FillQuote =
  | {
      tag: 'fill';
      /** Executor fee of a fill at this quote, USDG base units. */
      feeUsdg: bigint;
      /** The order's tolerance now. */
      slippageBps: number;
      swaps: readonly SwapCall[];
    }
  | { tag: 'skip'; reason: string };

type Quoted = { tag: 'quoted'; gross: bigint; swaps: readonly SwapCall[] };
type PendingQuote = () => Quoted | NoRoute;

/** What the fills of one batch trade: fills of one basket, direction and amount trade alike, and are quoted once. */
export type SharedQuotes = Map<QuotedBasket, Map<string, PendingQuote>>;

/**
 * Adds the reads of one fill to the batch; what it returns computes the quote once the batch was sent.
 * @param shared of all fills of this batch, which see one `now` of each basket
 */
export function planFill(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
  now: Now,
  fill: DueFill,
  shared: SharedQuotes,
): () => FillQuote {
  const { id, slot } = fill;
  // All three escrows share this part of their interface (IOrderEscrow).
  const escrow = { to: fill.escrow, abi: exitEscrowAbi } as const;
  const triggered = batch.add({ ...escrow, functionName: 'triggered', args: [id] });
  const tolerance = batch.add({ ...escrow, functionName: 'toleranceBps', args: [id] });
  const slotThere = slot === null ? null : planSlot(batch, fill);
  const ofBasket = shared.get(basket) ?? new Map<string, PendingQuote>();
  shared.set(basket, ofBasket);
  const traded = `${fill.type === 'sell'}:${fill.amount}`;
  const quoted = ofBasket.get(traded) ?? once(planQuote(batch, deployment, basket, now, fill));
  ofBasket.set(traded, quoted);
  return () => {
    const [holds] = optional(triggered) ?? [false];
    if (!holds) return { tag: 'skip', reason: 'not triggered at this block' };
    // Between the look at what is due and this block the next slot began: its own turn comes with the next look.
    if (slotThere !== null && slotThere() !== slot) {
      return { tag: 'skip', reason: 'not triggered at this block: its slot is over' };
    }
    const quote = quoted();
    if (quote.tag === 'no_route') {
      return { tag: 'skip', reason: `${quote.symbol} has no route for this amount` };
    }
    const feeUsdg = executorFee(quote.gross);
    if (feeUsdg === 0n) return { tag: 'skip', reason: 'dust: a fill would pay no fee' };
    return { tag: 'fill', feeUsdg, slippageBps: optional(tolerance) ?? 0, swaps: quote.swaps };
  };
}

/** The slot of the block, null where none is due. */
function planSlot(batch: ReadBatch, { escrow, id }: DueFill): () => number | null {
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
  deployment: Deployment,
  basket: QuotedBasket,
  now: Now,
  { type, amount }: DueFill,
): PendingQuote {
  if (type === 'sell') return planSell(batch, deployment, basket, now, amount);
  const gross = limitGrossWithin(amount);
  return planBudgetBuy(batch, deployment, basket, now, gross + mintFee(gross));
}

/** Works it out when it is first asked for. */
function once(quote: PendingQuote): PendingQuote {
  let known: Quoted | NoRoute | null = null;
  return () => (known ??= quote());
}
