import { buildCancel } from '../builds/cancel.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { cancelPlan } from '../schemas/responses/plans.ts';
import { cancelRequest } from '../schemas/transactions.ts';

export const txCancel = defineEndpoint({
  method: 'post',
  path: '/v1/tx/cancel',
  id: 'buildCancel',
  tag: 'Builds',
  summary: 'The unsigned transaction that takes an open order back.',
  body: cancelRequest,
  response: cancelPlan,
  refusals: ['NOT_FOUND', { code: 'ORDER_NOT_OPEN', status: 409 }, 'UPSTREAM'],
  cache: 'no-store',
  answer: ({ service }, { body }) => buildCancel(service, body),
});
