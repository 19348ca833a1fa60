import { buildSchedule } from '../builds/schedule.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { schedulePlan } from '../schemas/responses/plans.ts';
import { scheduleRequest } from '../schemas/transactions.ts';

export const txSchedule = defineEndpoint({
  method: 'post',
  path: '/v1/tx/schedule',
  id: 'buildSchedule',
  tag: 'Builds',
  summary: 'The unsigned transaction that escrows a series of equal buys (Subscribe or TWAP).',
  description:
    'An addition to the specification. Take the rest back with /v1/tx/cancel and the id of the schedule, which /v1/strategies/{address} lists.',
  body: scheduleRequest,
  response: schedulePlan,
  refusals: ['UNKNOWN_BASKET', 'NO_REFERENCE', 'UPSTREAM'],
  cache: 'no-store',
  answer: ({ service }, { body }) => buildSchedule(service, body),
});
