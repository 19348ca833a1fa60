import { z } from 'zod';
import { defineEndpoint } from '../http/endpoint.ts';

export const llms = defineEndpoint({
  method: 'get',
  path: '/llms.txt',
  id: 'llms',
  tag: 'Discovery',
  summary: 'A short guide that an agent can trade from, as text.',
  response: z.string().meta({ description: 'Markdown.' }),
  refusals: ['UPSTREAM'],
  cache: 'public, max-age=300',
  contentType: 'text/plain; charset=utf-8',
  shared: ({ guide }) => guide.current(),
});
