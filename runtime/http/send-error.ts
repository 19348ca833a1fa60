/** The answer to a refusal, on Node's own response: one shape before and behind Express. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiError } from '../errors.ts';

/** The request is there wherever Node could read one: an endpoint with a protocol of its own may refuse in its shape. */
export type ErrorBody = (error: ApiError, request?: IncomingMessage) => Record<string, unknown>;

export const plainErrorBody: ErrorBody = (error) => error.body();

export function sendError(response: ServerResponse, error: ApiError, errorBody: ErrorBody): void {
  const bytes = Buffer.from(JSON.stringify(errorBody(error, response.req)));
  response.statusCode = error.status;
  for (const [name, value] of Object.entries({
    'Cache-Control': 'no-store',
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(bytes.length),
    ...error.headers,
  })) {
    response.setHeader(name, value);
  }
  response.end(bytes);
}
