import { defineEndpoint } from '../http/endpoint.ts';
import { tradeRequest } from '../schemas/agent.ts';
import { tradePlan } from '../schemas/responses/agent.ts';
import { buildTrade } from '../session/trade-plan.ts';

export const agentTrade = defineEndpoint({
  method: 'post',
  path: '/v1/agent/trade',
  id: 'agentTrade',
  tag: 'Agent',
  summary: 'An unsigned session action with its typed data. Grants and widens nothing.',
  body: tradeRequest,
  response: tradePlan,
  refusals: [
    'UNKNOWN_BASKET',
    'SESSION_INACTIVE',
    'SESSION_LIMIT',
    'NO_REFERENCE',
    'NO_ROUTE',
    'INSUFFICIENT_FUNDS',
    'INSUFFICIENT_SHARES',
    'PAUSED',
    'UPSTREAM',
  ],
  cache: 'no-store',
  answer: ({ service }, { body }) => buildTrade(service, body),
});
