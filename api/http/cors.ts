/** Browsers may read everything here from anywhere: nothing is private and no cookie exists. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** On every answer. */
export const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'ETag, X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, Allow',
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const;

const PREFLIGHT_HEADERS = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, OPTIONS',
  // The last ones are what MCP clients send.
  'Access-Control-Allow-Headers':
    'Accept, Content-Type, If-None-Match, X-Request-Id, MCP-Protocol-Version, MCP-Session-Id, MCP-Method, MCP-Name, Last-Event-ID',
  'Access-Control-Max-Age': '86400',
} as const;

/** Answers a preflight; false for an OPTIONS that is none. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.headers['access-control-request-method'] === undefined) return false;
  response.writeHead(204, PREFLIGHT_HEADERS).end();
  return true;
}
