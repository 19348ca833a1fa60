/** Compression of large bodies, with validators that stay true. */
import compression from 'compression';
import type { RequestHandler } from 'express';
import { COMPRESS_FROM_BYTES } from './shared-body.ts';

const compress = compression({
  threshold: COMPRESS_FROM_BYTES,
  filter: (request, response) =>
    // Streams of events are sent piece by piece.
    !String(response.getHeader('Content-Type')).startsWith('text/event-stream') &&
    compression.filter(request, response),
});

/**
 * gzip, deflate or brotli as the client accepts. A strong ETag names the bytes sent (RFC 9110, 8.8.1): that of a
 * compressed body is made weak, and If-None-Match finds it all the same.
 */
export const compressed: RequestHandler = (request, response, next) => {
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => typeof response;
  response.writeHead = ((...args: unknown[]) => {
    const etag = response.getHeader('ETag');
    if (
      response.hasHeader('Content-Encoding') &&
      typeof etag === 'string' &&
      etag.startsWith('"')
    ) {
      response.setHeader('ETag', `W/${etag}`);
    }
    return writeHead(...args);
  }) as typeof response.writeHead;
  // Its own hook on writeHead runs before the one above: it was put on later.
  compress(request, response, next);
};
