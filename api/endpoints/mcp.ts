import { defineEndpoint } from '../http/endpoint.ts';
import { MCP_PATH } from '../mcp/json-rpc.ts';
import { jsonRpcAnswer, jsonRpcMessage, jsonRpcRefusal } from '../schemas/responses/json-rpc.ts';

const refusal = (description: string) => ({ description, schema: jsonRpcRefusal });

/** Mounted by mcpRoute. */
export const mcp = defineEndpoint({
  method: 'post',
  path: MCP_PATH,
  id: 'mcp',
  tag: 'Discovery',
  summary: 'Model Context Protocol: the same reads and builds as tools.',
  description:
    'Streamable HTTP, stateless, JSON answers, protocol versions up to 2025-11-25 and 2026-07-28. All tools are unsigned only.',
  body: jsonRpcMessage,
  response: jsonRpcAnswer,
  otherResponses: {
    202: { description: 'A notification was taken.', schema: null },
    400: refusal(
      'No JSON (-32700), no JSON-RPC message, a batch, or a protocol version not known.',
    ),
    403: refusal('Host or Origin is not one that is served.'),
    404: refusal('No such method (2026-07-28).'),
    406: refusal('Accept does not allow application/json.'),
    413: refusal('The body is too large.'),
    415: refusal('The body is not application/json.'),
    429: refusal('Too many requests from this client address.'),
    500: refusal('An unexpected fault: retry.'),
  },
  refusals: [],
  cache: 'no-store',
  external: true,
});
