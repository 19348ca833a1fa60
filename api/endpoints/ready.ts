import { defineEndpoint } from '../http/endpoint.ts';
import { readyBody } from '../schemas/responses/discovery.ts';

export const ready = defineEndpoint({
  method: 'get',
  path: '/ready',
  id: 'ready',
  tag: 'Discovery',
  summary: 'Whether the process can serve, and what is missing.',
  response: readyBody,
  otherResponses: { 503: { description: 'Not ready, and why.', schema: readyBody } },
  refusals: [],
  cache: 'no-store',
  external: true,
});
