import { buildBuy } from '../builds/buy.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { buyPlan } from '../schemas/responses/plans.ts';
import { buyRequest } from '../schemas/transactions.ts';

export const txBuy = defineEndpoint({
  method: 'post',
  path: '/v1/tx/buy',
  id: 'buildBuy',
  tag: 'Builds',
  summary: 'The unsigned transaction that buys a basket for exact USDG. Never partial.',
  body: buyRequest,
  response: buyPlan,
  refusals: ['UNKNOWN_BASKET', 'NO_ROUTE', 'PAUSED', 'UPSTREAM'],
  cache: 'no-store',
  answer: ({ service }, { body }) => buildBuy(service, body),
});
