/**
 * Which payouts are told first, where more are due than one answer lists. What pays goes first, so that work at a loss
 * cannot keep it waiting; and every market has its turn, so that none waits behind another's crumbs. Pure.
 */
import type { Address } from 'viem';
import { COVER_PAYOUT_REWARD } from '../../contracts-abi/constants.ts';
import { type CoverWork, POSITIONS_PER_PAYOUT } from './cover-work.ts';

/** A position to pay. `fee`: USDG base units that it was sold for. */
export type DuePosition = { id: bigint; fee: bigint; coverUsd: number };

/** `settled`: not voided, which gives the fees back: paying that out pays nothing. */
export type DueMarket = {
  week: number;
  vault: Address;
  settled: boolean;
  positions: readonly DuePosition[];
};

type Batch = { work: CoverWork; reward: bigint; turn: number; usd: number };

/** CoverMath.payoutReward: of paying out one position, half of its own fee at most. */
function payoutReward(fee: bigint): bigint {
  const half = fee / 2n;
  return half < COVER_PAYOUT_REWARD ? half : COVER_PAYOUT_REWARD;
}

/**
 * Cuts what is due into payouts, each of one market: its best paid positions first, then the largest. Of them `most`, in
 * turn the one that pays most and the one whose market was told least, the larger one of equals.
 */
export function payoutTurns(markets: readonly DueMarket[], most: number): CoverWork[] {
  const batches = markets.flatMap(batchesOf);
  const inTurn = (a: Batch, b: Batch): number => a.turn - b.turn || b.usd - a.usd;
  const best = batches.toSorted((a, b) => sign(b.reward - a.reward) || inTurn(a, b));
  const fair = batches.toSorted(inTurn);
  const told = new Set<Batch>();
  for (let index = 0; index < batches.length && told.size < most; index += 1) {
    for (const batch of [best[index], fair[index]]) {
      if (batch !== undefined && told.size < most) told.add(batch);
    }
  }
  return [...told].map(({ work }) => work);
}

function batchesOf({ week, vault, settled, positions }: DueMarket): Batch[] {
  const rewardOf = ({ fee }: DuePosition): bigint => (settled ? payoutReward(fee) : 0n);
  const ordered = positions.toSorted(
    (a, b) => sign(rewardOf(b) - rewardOf(a)) || b.coverUsd - a.coverUsd || sign(a.id - b.id),
  );
  const batches: Batch[] = [];
  for (let start = 0; start < ordered.length; start += POSITIONS_PER_PAYOUT) {
    const own = ordered.slice(start, start + POSITIONS_PER_PAYOUT);
    const ids = own.map(({ id }) => id);
    batches.push({
      work: { type: 'payout', id: ids[0] ?? 0n, vault, week, positions: ids },
      reward: own.reduce((sum, position) => sum + rewardOf(position), 0n),
      turn: batches.length,
      usd: own.reduce((sum, { coverUsd }) => sum + coverUsd, 0),
    });
  }
  return batches;
}

const sign = (value: bigint): number => (value === 0n ? 0 : value > 0n ? 1 : -1);
