import { buildSell } from '../builds/sell.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { sellPlan } from '../schemas/responses/plans.ts';
import { sellRequest } from '../schemas/transactions.ts';

export const txSell = defineEndpoint({
  method: 'post',
  path: '/v1/tx/sell',
  id: 'buildSell',
  tag: 'Builds',
  summary: 'The unsigned transaction that sells shares for USDG, all in one. Never partial.',
  body: sellRequest,
  response: sellPlan,
  refusals: [
    'UNKNOWN_BASKET',
    { code: 'INSUFFICIENT_SHARES', status: 400 },
    'NO_ROUTE',
    'UPSTREAM',
  ],
  cache: 'no-store',
  answer: ({ service }, { body }) => buildSell(service, body),
});
