import { defineEndpoint } from '../http/endpoint.ts';
import { readSellRoutes } from '../quotes/sell-routes.ts';
import { sellRoutesBody } from '../schemas/responses/sell-routes.ts';
import { sellRoutesQuery } from '../schemas/sell-routes.ts';

export const sellRoutes = defineEndpoint({
  method: 'get',
  path: '/v1/leverage/sell-routes',
  id: 'sellRoutes',
  tag: 'Reads',
  summary: 'The swaps that would sell shares of a basket for USDG now.',
  query: sellRoutesQuery,
  response: sellRoutesBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  deadline: 'build',
  answer: ({ service }, { query }) => readSellRoutes(service, query.vault, query.shares),
});
