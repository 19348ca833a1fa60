/** Browsers may read everything here from anywhere: nothing is private and no cookie exists. */
import type { RequestHandler } from 'express';

const EXPOSED = 'ETag, X-Request-Id, RateLimit, RateLimit-Policy, Retry-After';

/** Adds the CORS headers to every answer and answers preflights by itself. */
export const cors: RequestHandler = (request, response, next) => {
  response.set({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': EXPOSED,
    'Cross-Origin-Resource-Policy': 'cross-origin',
  });
  const isPreflight =
    request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
  if (!isPreflight) {
    next();
    return;
  }
  response
    .status(204)
    .set({
      'Access-Control-Allow-Methods': 'GET, HEAD, POST, OPTIONS',
      'Access-Control-Allow-Headers': 'Content-Type, If-None-Match, X-Request-Id',
      'Access-Control-Max-Age': '86400',
    })
    .end();
};
