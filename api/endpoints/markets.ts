import { defineEndpoint } from '../http/endpoint.ts';
import { MARKS_CACHE } from '../http/context.ts';
import { marketsQuery } from '../schemas/reads.ts';
import { marketsBody } from '../schemas/responses/marks.ts';

/** Costs no RPC. */
export const markets = defineEndpoint({
  method: 'get',
  path: '/v1/markets',
  id: 'markets',
  tag: 'Reads',
  summary: 'NAV, 24 h change and buy cost of all baskets, and constituent prices.',
  query: marketsQuery,
  response: marketsBody,
  refusals: ['UPSTREAM'],
  cache: MARKS_CACHE,
  shared: ({ bodies }, { query }, pretty) =>
    bodies.markets(query.fields, query.prices !== '0', pretty),
});
