import { defineEndpoint } from '../http/endpoint.ts';
import { healthBody } from '../schemas/responses/discovery.ts';

export const health = defineEndpoint({
  method: 'get',
  path: '/health',
  id: 'health',
  tag: 'Discovery',
  summary: 'Whether the process is alive.',
  response: healthBody,
  refusals: [],
  cache: null,
  external: true,
});
