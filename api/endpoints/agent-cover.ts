import { buildCover } from '../cover/cover-plan.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { coverRequest } from '../schemas/cover.ts';
import { coverPlan } from '../schemas/responses/cover.ts';

export const agentCover = defineEndpoint({
  method: 'post',
  path: '/v1/agent/cover',
  id: 'agentCover',
  tag: 'Agent',
  summary: 'An unsigned cover action with its typed data. Underwrites, grants and widens nothing.',
  description:
    'take buys out of the book, best price first, of at most 20 offers: larger ones come in where the cheapest do not reach; request asks for cover at a price and locks its premium; cancel takes a request back. Premiums and cover fees count against the daily cover limit when they are locked; a cancel gives nothing of it back. While the basket has no valid 10-minute average NAV, a holder is answered PAUSED.',
  body: coverRequest,
  response: coverPlan,
  refusals: [
    'UNKNOWN_BASKET',
    'SESSION_INACTIVE',
    'SESSION_LIMIT',
    'NOT_A_HOLDER',
    'NO_COVER',
    'COVER_CLOSED',
    'INSUFFICIENT_FUNDS',
    { code: 'ORDER_NOT_OPEN', status: 422 },
    'PAUSED',
    'UPSTREAM',
  ],
  cache: 'no-store',
  answer: ({ service }, { body }) => buildCover(service, body),
});
