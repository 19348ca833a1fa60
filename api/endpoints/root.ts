import { inSpelling } from '../discovery/documents.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { rootBody } from '../schemas/responses/discovery.ts';

export const root = defineEndpoint({
  method: 'get',
  path: '/',
  id: 'root',
  tag: 'Discovery',
  summary: 'Who this is, on which chain, and every endpoint by name.',
  response: rootBody,
  refusals: [],
  cache: 'public, max-age=300',
  shared: ({ documents }, _input, pretty) => inSpelling(documents.root, pretty),
});
