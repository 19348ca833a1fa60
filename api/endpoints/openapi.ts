import { inSpelling } from '../discovery/documents.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { openApiBody } from '../schemas/responses/discovery.ts';

export const openapi = defineEndpoint({
  method: 'get',
  path: '/openapi.json',
  id: 'openapi',
  tag: 'Discovery',
  summary: 'This document: OpenAPI 3.1.',
  response: openApiBody,
  refusals: [],
  cache: 'public, max-age=300',
  shared: ({ documents }, _input, pretty) => inSpelling(documents.openapi, pretty),
});
