import { z } from 'zod';
import { APPROVE_CACHE, APPROVE_PATH } from '../approval/approve-page.ts';
import { defineEndpoint } from '../http/endpoint.ts';

/** Mounted by approveRoute, with the files of the page. */
export const approve = defineEndpoint({
  method: 'get',
  path: APPROVE_PATH,
  id: 'approve',
  tag: 'Agent',
  summary: "The owner's approval page, for a browser with his wallet.",
  description:
    'approvalUrl of a session leads here, with owner and key in its query, unless the operator has a page of his own. The script reads them; the server does not.',
  response: z.string().meta({ description: 'HTML.' }),
  refusals: [{ code: 'PAUSED', status: 429 }, 'SERVER'],
  cache: APPROVE_CACHE,
  contentType: 'text/html; charset=utf-8',
  external: true,
});
