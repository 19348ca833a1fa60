import { z } from 'zod';
import { DOCS_CACHE, DOCS_PATH } from '../discovery/docs-page.ts';
import { defineEndpoint } from '../http/endpoint.ts';

/** Mounted by docsRoute, with the files of the page. */
export const docs = defineEndpoint({
  method: 'get',
  path: DOCS_PATH,
  id: 'docs',
  tag: 'Discovery',
  summary: 'This document as a page to read and try.',
  response: z.string().meta({ description: 'HTML.' }),
  refusals: [{ code: 'PAUSED', status: 429 }, 'SERVER'],
  cache: DOCS_CACHE,
  contentType: 'text/html; charset=utf-8',
  external: true,
});
