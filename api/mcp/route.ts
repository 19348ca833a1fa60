/** POST /mcp: Streamable HTTP, stateless, JSON answers, over both protocol eras. GET and DELETE are 405 like any other. */
import { toNodeHandler } from '@modelcontextprotocol/node';
import { bodyTextOf } from '../../runtime/http/server.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { RouteContext } from '../http/context.ts';
import { exactNumbers } from '../http/exact-numbers.ts';
import { createToolCaller } from './call.ts';
import { acceptJson, allowedHostnames, oneMessage, refuseStrangers } from './gate.ts';
import { MCP_PATH } from './json-rpc.ts';
import { createMcpFetch } from './serve.ts';
import { createToolServer } from './server.ts';
import { TOOLS } from './tools.ts';

export function mcpRoute(
  context: RouteContext,
  options: {
    logger: Logger;
    metrics: Metrics;
    /** Of tool names. */
    prefix: string;
    listenHost: string;
    addedHosts: readonly string[];
  },
): void {
  const { logger, metrics, prefix, listenHost, addedHosts } = options;
  const publicUrl = context.service.urls.base;
  const calls = metrics.counter(
    'mcp_calls_total',
    'Calls of MCP tools, by tool and by outcome: ok or the error code.',
    ['tool', 'outcome'],
  );
  const tools = createToolServer({
    tools: TOOLS,
    prefix,
    websiteUrl: publicUrl,
    caller: createToolCaller({ context, logger, calls }),
  });
  const onerror = (error: Error) => logger.debug({ err: error }, 'an MCP message was refused');
  const handle = toNodeHandler({ fetch: createMcpFetch(tools, onerror) }, { onerror });
  const hostnames = allowedHostnames({ publicUrl, listenHost, added: addedHosts });
  context.http.route(
    'post',
    MCP_PATH,
    refuseStrangers(hostnames),
    acceptJson,
    oneMessage,
    async (request, response) => {
      response.set('Cache-Control', 'no-store');
      // Dollars count as they were written, as on the routes.
      await handle(request, response, exactNumbers(request.body, bodyTextOf(request)));
    },
  );
}
