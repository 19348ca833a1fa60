import { buildLimit } from '../builds/limit.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { limitPlan } from '../schemas/responses/plans.ts';
import { limitRequest } from '../schemas/transactions.ts';

export const txLimit = defineEndpoint({
  method: 'post',
  path: '/v1/tx/limit',
  id: 'buildLimit',
  tag: 'Builds',
  summary: 'The unsigned transaction that places a resting buy over escrowed USDG.',
  body: limitRequest,
  response: limitPlan,
  refusals: ['UNKNOWN_BASKET', 'NO_REFERENCE', 'UPSTREAM'],
  cache: 'no-store',
  answer: ({ service }, { body }) => buildLimit(service, body),
});
