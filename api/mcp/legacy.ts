/** Clients of the protocol up to 2025-11-25: a server and a transport per request, stateless, JSON answers. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { ToolServer } from './server.ts';

/** The SDK makes one per server otherwise, which costs more than most calls. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

export async function serveLegacy(
  tools: ToolServer,
  request: Request,
  parsedBody: unknown,
): Promise<Response> {
  const server = new Server(tools.info, {
    capabilities: { tools: {} },
    instructions: tools.instructions,
    jsonSchemaValidator,
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.listed] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const call = tools.call(params.name, params.arguments ?? {});
    if (call === null) throw new McpError(ErrorCode.InvalidParams, 'no tool has this name');
    return await call;
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  try {
    await server.connect(transport);
    // A transport that is closed never answers: a client that left must not keep this waiting.
    return await Promise.race([
      transport.handleRequest(request, { parsedBody }),
      leaving(request.signal),
    ]);
  } finally {
    await server.close();
  }
}

/** 499, once the client has gone: nobody reads it. */
function leaving(signal: AbortSignal): Promise<Response> {
  return new Promise((resolve) => {
    const gone = () => resolve(new Response(null, { status: 499 }));
    if (signal.aborted) gone();
    else signal.addEventListener('abort', gone, { once: true });
  });
}
