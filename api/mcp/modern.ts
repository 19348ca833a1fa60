/** Clients of the protocol from 2026-07-28: each request carries its own envelope, nothing is kept between them. */
import {
  createMcpHandler,
  type McpHttpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { ToolServer } from './server.ts';

/** Tools change with a release alone. */
const UNCHANGING = { ttlMs: 300_000, cacheScope: 'public' } as const;

/** The SDK makes one per server otherwise, which costs more than most calls. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

export function modernHandler(tools: ToolServer, onerror: (error: Error) => void): McpHttpHandler {
  return createMcpHandler(() => serverOf(tools), { legacy: 'reject', onerror });
}

function serverOf(tools: ToolServer): Server {
  const server = new Server(tools.info, {
    capabilities: { tools: {} },
    instructions: tools.instructions,
    jsonSchemaValidator,
    cacheHints: { 'tools/list': UNCHANGING, 'server/discover': UNCHANGING },
  });
  server.setRequestHandler('tools/list', () => ({ tools: [...tools.listed] }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const call = tools.call(params.name, params.arguments ?? {});
    if (call === null) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'no tool has this name');
    }
    return await call;
  });
  return server;
}
