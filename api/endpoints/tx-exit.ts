import { buildExit } from '../builds/exit.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { exitPlan } from '../schemas/responses/plans.ts';
import { exitRequest } from '../schemas/transactions.ts';

export const txExit = defineEndpoint({
  method: 'post',
  path: '/v1/tx/exit',
  id: 'buildExit',
  tag: 'Builds',
  summary:
    'The unsigned transaction that places a stop-loss, a take-profit or both over escrowed shares.',
  body: exitRequest,
  response: exitPlan,
  refusals: [
    'UNKNOWN_BASKET',
    { code: 'INSUFFICIENT_SHARES', status: 400 },
    'NO_REFERENCE',
    'UPSTREAM',
  ],
  cache: 'no-store',
  answer: ({ service }, { body }) => buildExit(service, body),
});
