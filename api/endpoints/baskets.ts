import { defineEndpoint } from '../http/endpoint.ts';
import { MARKS_CACHE } from '../http/context.ts';
import { basketsQuery } from '../schemas/reads.ts';
import { basketsBody } from '../schemas/responses/marks.ts';

/** Costs no RPC. */
export const baskets = defineEndpoint({
  method: 'get',
  path: '/v1/baskets',
  aliases: { indexes: '/v1/indexes' },
  id: 'baskets',
  tag: 'Reads',
  summary: 'All baskets: texts, target weights and live marks.',
  query: basketsQuery,
  response: basketsBody,
  refusals: ['UPSTREAM'],
  cache: MARKS_CACHE,
  shared: ({ bodies }, { query }, pretty) => bodies.baskets(query.fields, pretty),
});
