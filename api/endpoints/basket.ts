import { MARKS_CACHE } from '../http/context.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { tickerPath } from '../schemas/reads.ts';
import { basketBody } from '../schemas/responses/marks.ts';
import { basketOf } from '../service.ts';

/** Costs no RPC. */
export const basket = defineEndpoint({
  method: 'get',
  path: '/v1/baskets/{ticker}',
  aliases: { index: '/v1/indexes/{ticker}' },
  id: 'basket',
  tag: 'Reads',
  summary: 'One basket with its constituents, each with address, target weight and price.',
  params: tickerPath,
  response: basketBody,
  refusals: [{ code: 'UNKNOWN_BASKET', status: 404 }, 'UPSTREAM'],
  cache: MARKS_CACHE,
  shared: ({ service, bodies }, { params }, pretty) =>
    bodies.basket(basketOf(service, params.ticker, 404), pretty),
});
