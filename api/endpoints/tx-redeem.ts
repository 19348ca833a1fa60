import { buildRedeem } from '../builds/redeem.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { redeemPlan } from '../schemas/responses/plans.ts';
import { redeemRequest } from '../schemas/transactions.ts';

export const txRedeem = defineEndpoint({
  method: 'post',
  path: '/v1/tx/redeem',
  id: 'buildRedeem',
  tag: 'Builds',
  summary: 'The unsigned transaction that takes the constituents of shares instead of USDG. Free.',
  body: redeemRequest,
  response: redeemPlan,
  refusals: ['UNKNOWN_BASKET', { code: 'INSUFFICIENT_SHARES', status: 400 }, 'UPSTREAM'],
  cache: 'no-store',
  answer: ({ service }, { body }) => buildRedeem(service, body),
});
