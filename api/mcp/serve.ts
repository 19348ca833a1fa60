/** One message in, one answer out, whichever protocol era it is of; nothing is kept between two messages. */
import { isJsonContentType, isLegacyRequest } from '@modelcontextprotocol/server';
import { redactSecrets } from '../../runtime/logger.ts';
import { serveLegacy } from './legacy.ts';
import { modernHandler } from './modern.ts';
import { paramsRefusal } from './params.ts';
import type { ToolServer } from './server.ts';

export type McpFetch = (request: Request, options?: { parsedBody?: unknown }) => Promise<Response>;

/** @param onerror told of refused messages and of faults of the transport. */
export function createMcpFetch(tools: ToolServer, onerror: (error: Error) => void): McpFetch {
  const modern = modernHandler(tools, onerror);
  return async (request, { parsedBody } = {}) => {
    const refusal = paramsRefusal(parsedBody);
    if (refusal !== null) return Response.json(refusal);
    const answer = (await isLegacyRequest(request, parsedBody))
      ? await serveLegacy(tools, request, parsedBody)
      : await modern.fetch(request, { parsedBody });
    return await withoutSecrets(answer);
  };
}

/** A refusal may name what it refuses (a method, a version): somebody's key may stand there. */
async function withoutSecrets(answer: Response): Promise<Response> {
  if (answer.body === null || !isJsonContentType(answer.headers.get('content-type'))) return answer;
  const text = await answer.text();
  return new Response(isRefusal(text) ? redactSecrets(text) : text, answer);
}

function isRefusal(text: string): boolean {
  return text.includes('"error":{') && 'error' in (JSON.parse(text) as object);
}
