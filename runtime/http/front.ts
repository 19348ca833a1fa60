/**
 * What stands before Express, on Node's own request and response: request id, security headers, rate limit, access log
 * and metrics, for every request alike. Express routes what is left; bodies that are shared between clients are
 * answered here, so that the hottest reads cost little more than Node itself. There is one of each protection and no
 * way round them.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import { type Exchange, OPERATOR_PATHS } from './access-log.ts';
import type { RateLimiter } from './rate-limit.ts';
import { requestIdOf } from './request-id.ts';
import {
  COMPRESS_FROM_BYTES,
  hasAlready,
  type SharedBody,
  type SharedRoute,
} from './shared-body.ts';

export type FrontOptions = {
  /** On every answer. */
  headers: readonly (readonly [string, string])[];
  /** Sees an OPTIONS before all that can refuse it; true when it has answered. */
  preflight: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
  /** Null where requests are not limited. */
  limiter: RateLimiter | null;
  /** What the limiter counts a request by. */
  keyOf: (request: IncomingMessage) => string;
  /** Answers a request that is over the limit. */
  refuse: (response: ServerResponse, retryAfterSeconds: number) => void;
  /** Told of every request once, at its end. */
  record: (exchange: Exchange) => void;
  /** Express. */
  next: (request: IncomingMessage, response: ServerResponse) => void;
};

export type Front = {
  handle: RequestListener;
  /** Lets the front answer a route that Express has as well. */
  share: (route: SharedRoute) => void;
};

export function createFront(options: FrontOptions): Front {
  const { limiter, preflight } = options;
  const shared = new Map<string, SharedRoute>();

  const handle: RequestListener = (request, response) => {
    const exchange: Exchange = {
      request,
      response,
      id: requestIdOf(request),
      startedAt: performance.now(),
      route: null,
    };
    response.once('close', () => {
      exchange.route ??= expressRoute(request);
      options.record(exchange);
    });
    const { path, query } = splitUrl(request.url ?? '/');
    // Name, value, name, value, …: as writeHead takes them.
    const headers = options.headers.flat();
    headers.push('X-Request-Id', exchange.id);

    if (request.method === 'OPTIONS' && preflight !== null) {
      setAll(response, headers);
      if (preflight(request, response)) return;
    }
    if (limiter !== null && !OPERATOR_PATHS.has(path)) {
      const state = limiter.take(options.keyOf(request));
      headers.push('RateLimit-Policy', limiter.policy, 'RateLimit', limiter.headerOf(state));
      if (state.exceeded) {
        setAll(response, headers);
        options.refuse(response, state.resetSeconds);
        return;
      }
    }
    const route = shared.get(path);
    if (route !== undefined && isPlainRead(request)) {
      const body = bodyOf(route, query);
      if (body !== null && !wouldCompress(request, body)) {
        exchange.route = route.path;
        sendShared(request, response, headers, route.cacheControl, body);
        return;
      }
    }
    setAll(response, headers);
    options.next(request, response);
  };
  return { handle, share: (route) => shared.set(route.path, route) };
}

function splitUrl(url: string): { path: string; query: string } {
  const at = url.indexOf('?');
  return at < 0 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at + 1) };
}

function setAll(response: ServerResponse, headers: readonly string[]): void {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    response.setHeader(headers[at] ?? '', headers[at + 1] ?? '');
  }
}

/** The pattern of the route that Express found; null where it found none. */
function expressRoute(request: IncomingMessage): string | null {
  const { route } = request as { route?: { path?: unknown } };
  return typeof route?.path === 'string' ? route.path : null;
}

/** A body on a GET is odd enough for the ordinary way, which reads or refuses it. */
function isPlainRead({ method, headers }: IncomingMessage): boolean {
  return (
    (method === 'GET' || method === 'HEAD') &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined
  );
}

/** Null where the route refuses the query: the ordinary way says why. */
function bodyOf(route: SharedRoute, query: string): SharedBody | null {
  // Express reads no query past a #.
  if (query.includes('#')) return null;
  try {
    return route.bodyFor(query === '' ? {} : parseQuery(query));
  } catch {
    return null;
  }
}

function wouldCompress(request: IncomingMessage, body: SharedBody): boolean {
  return (
    body.bytes.length >= COMPRESS_FROM_BYTES && request.headers['accept-encoding'] !== undefined
  );
}

function sendShared(
  request: IncomingMessage,
  response: ServerResponse,
  headers: string[],
  cacheControl: string,
  body: SharedBody,
): void {
  headers.push('Cache-Control', cacheControl, 'ETag', body.etag);
  if (hasAlready(request.headers['if-none-match'], body.etag)) {
    response.writeHead(304, headers).end();
    return;
  }
  headers.push('Content-Type', 'application/json; charset=utf-8');
  headers.push('Content-Length', String(body.bytes.length));
  response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : body.bytes);
}
