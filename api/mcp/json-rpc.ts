/** Refusals of the MCP endpoint: JSON-RPC's shape around the one error shape, which stands in `data`. */
import type { IncomingMessage } from 'node:http';
import type { ApiError } from '../../runtime/errors.ts';
import { isMalformedJson } from '../../runtime/http/error-mapper.ts';

export const MCP_PATH = '/mcp';

/** JSON-RPC 2.0's own codes, and the one that MCP's transports use for what HTTP refuses. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INTERNAL_ERROR = -32_603;
const REFUSED = -32_000;

function codeOf(error: ApiError): number {
  if (isMalformedJson(error)) return PARSE_ERROR;
  if (error.code === 'SERVER') return INTERNAL_ERROR;
  return error.code === 'BAD_REQUEST' && error.status === 400 ? INVALID_REQUEST : REFUSED;
}

/** What a refused POST is answered: whose request it was is not known, so `id` is null. */
export function jsonRpcError(error: ApiError): Record<string, unknown> {
  return {
    jsonrpc: '2.0',
    id: null,
    error: { code: codeOf(error), message: error.message, data: error.body() },
  };
}

/** The body of an error: JSON-RPC's to those who post to the MCP endpoint, the one shape to all others. */
export function errorBodyFor(error: ApiError, request?: IncomingMessage): Record<string, unknown> {
  // As Express finds the route: in any case, with a slash at the end or without.
  const path = request?.url?.split('?', 1)[0]?.replace(/\/$/, '').toLowerCase();
  return path === MCP_PATH && request?.method === 'POST' ? jsonRpcError(error) : error.body();
}
