/** POST /mcp: Streamable HTTP, stateless, JSON answers, over both protocol eras. GET and DELETE are 405 like any other. */
import { toNodeHandler } from '@modelcontextprotocol/node';
import { isJsonContentType, isLegacyRequest } from '@modelcontextprotocol/server';
import { type Logger, redactSecrets } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { RouteContext } from '../http/context.ts';
import { createToolCaller } from './call.ts';
import { acceptJson, allowedHostnames, oneMessage, refuseStrangers } from './gate.ts';
import { MCP_PATH } from './json-rpc.ts';
import { serveLegacy } from './legacy.ts';
import { modernHandler } from './modern.ts';
import { createToolServer } from './server.ts';
import { TOOLS } from './tools.ts';

export function mcpRoute(
  context: RouteContext,
  options: {
    logger: Logger;
    metrics: Metrics;
    prefix: string;
    listenHost: string;
    addedHosts: readonly string[];
  },
): void {
  const { logger, metrics, prefix, listenHost, addedHosts } = options;
  const publicUrl = context.service.urls.base;
  const tools = createToolServer({
    tools: TOOLS,
    prefix,
    websiteUrl: publicUrl,
    caller: createToolCaller({
      context,
      logger,
      calls: metrics.counter(
        'mcp_calls_total',
        'Calls of MCP tools, by tool and by outcome: ok or the error code.',
        ['tool', 'outcome'],
      ),
    }),
  });
  const onerror = (error: Error) => logger.debug({ err: error }, 'an MCP message was refused');
  const modern = modernHandler(tools, onerror);
  const handle = toNodeHandler(
    {
      fetch: async (request, { parsedBody } = {}) => {
        const answer = (await isLegacyRequest(request, parsedBody))
          ? await serveLegacy(tools, request, parsedBody)
          : await modern.fetch(request, { parsedBody });
        return withoutSecrets(answer);
      },
    },
    { onerror },
  );
  const hostnames = allowedHostnames({ publicUrl, listenHost, added: addedHosts });
  context.http.route(
    'post',
    MCP_PATH,
    refuseStrangers(hostnames),
    acceptJson,
    oneMessage,
    async (request, response) => {
      response.set('Cache-Control', 'no-store');
      await handle(request, response, request.body);
    },
  );
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
