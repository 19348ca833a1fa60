import { toNumber } from '../../contracts-abi/rounding.ts';
import { ApiError } from '../../runtime/errors.ts';
import { outcomeKey, type WeekOutcome } from '../cover/cover-index.ts';
import { moveOf } from '../cover/weekend-odds.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { coverAccountPath } from '../schemas/cover.ts';
import { coverPositionsBody } from '../schemas/responses/cover.ts';
import { requireIndex } from '../service.ts';

const OPEN: WeekOutcome = { closeNav: null, settleNav: null, isVoid: false };

export const coverPositions = defineEndpoint({
  method: 'get',
  path: '/v1/cover/positions/{account}',
  id: 'coverPositions',
  tag: 'Cover',
  summary: 'Cover that an account bought or underwrote, and its open requests and offers.',
  description:
    'The newest first. Payouts come by themselves: a keeper executes them once the week has settled.',
  params: coverAccountPath,
  response: coverPositionsBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  answer: async ({ service }, { params }) => {
    requireIndex(service);
    const { coverIndex, indexer, marks } = service;
    const asOfBlock = indexer.height;
    const [held, listed, credit] = await Promise.all([
      coverIndex.positionsOf(params.account),
      coverIndex.listingsOf(params.account),
      coverIndex.creditOf(params.account),
    ]);
    const outcomes = await coverIndex.outcomesOf([
      ...new Set(held.positions.map(({ week }) => week)),
    ]);
    const tickerOf = (vault: `0x${string}`): string => {
      const ticker = marks.catalog().byVault(vault)?.ticker;
      if (ticker !== undefined) return ticker;
      throw new ApiError('UPSTREAM', 'a basket with cover is not read yet: retry');
    };
    return {
      account: params.account,
      positions: held.positions.map((position) => {
        const outcome = outcomes.get(outcomeKey(position.week, position.vault)) ?? OPEN;
        return {
          id: position.id,
          ticker: tickerOf(position.vault),
          week: position.week,
          role: position.role,
          fromBps: position.fromBps,
          toBps: position.toBps,
          coverUsd: position.coverUsd,
          premium: toNumber(position.premium, 6),
          fees: toNumber(position.fee, 6),
          move: weekendMove(position.week, outcome),
          closeNav: dollarsOf(outcome.closeNav),
          settleNav: dollarsOf(outcome.settleNav),
          paid: position.paidOut !== null,
          paidOut: toNumber(position.paidOut ?? 0n, 6),
        };
      }),
      listings: listed.listings.map(({ vault, pricePer1k, ...listing }) => ({
        ...listing,
        ticker: tickerOf(vault),
        pricePer1k: toNumber(pricePer1k, 6),
      })),
      credit: toNumber(credit, 6),
      ...(held.more || listed.more ? { note: 'the newest are shown; there are more' } : {}),
      asOfBlock,
    };
  },
});

function weekendMove(
  week: number,
  { closeNav, settleNav, isVoid }: WeekOutcome,
): number | 'void' | null {
  if (isVoid) return 'void';
  return closeNav === null || settleNav === null ? null : moveOf({ week, closeNav, settleNav });
}

const dollarsOf = (nav: bigint | null): number | null => (nav === null ? null : toNumber(nav, 18));
