import { toNumber } from '../../contracts-abi/rounding.ts';
import { valueOf } from '../accounting/cost-basis.ts';
import { MARKS_CACHE } from '../http/context.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { statsBody } from '../schemas/responses/stats.ts';

/** Costs no RPC. Not live until the index has reached the head: totals of half an index are no totals. */
export const stats = defineEndpoint({
  method: 'get',
  path: '/v1/stats',
  id: 'stats',
  tag: 'Reads',
  summary: 'Totals of the protocol: baskets, volume, value locked.',
  response: statsBody,
  refusals: ['UPSTREAM'],
  cache: MARKS_CACHE,
  answer: async ({ service: { marks, ledger, indexer } }) => {
    const rows = marks.rows();
    const tvl = rows.reduce((sum, { supply, nav }) => sum + valueOf(supply, nav ?? 0n), 0n);
    const { volume, live } = await ledger.volume();
    return {
      indexes: rows.length,
      volumeAllTime: toNumber(volume, 6),
      tvl: toNumber(tvl, 6),
      asOfMs: marks.snapshot().takenAtMs,
      live: marks.live() && indexer.current && live,
    };
  },
});
