/**
 * The one HTTP server: what stands before Express (front.ts), body limit, compression, the error mapper, `/health`,
 * `/ready` and `/metrics`. A process adds its routes and nothing else.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import express, { type Express, type RequestHandler, type Response } from 'express';
import { ApiError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import { type ReadinessCheck, readinessReport } from '../readiness.ts';
import { exchangeRecorder, keepFault } from './access-log.ts';
import { clientAddress, clientKeys, type TrustProxy } from './client-address.ts';
import { compressed } from './compressed.ts';
import { mapError } from './error-mapper.ts';
import { createFront, type FrontOptions } from './front.ts';
import { RateLimiter } from './rate-limit.ts';
import { type ErrorBody, plainErrorBody, sendError } from './send-error.ts';
import type { SharedRoute } from './shared-body.ts';
import { staticHeaders } from './static-headers.ts';

export { type Listening, listen } from './listen.ts';
export { portOption } from '../config.ts';
export { httpOptions } from './options.ts';

export type Method = 'get' | 'post';

export type HttpAppOptions = {
  logger: Logger;
  metrics: Metrics;
  readiness: readonly ReadinessCheck[];
  /** Largest request body in bytes. */
  bodyLimitBytes: number;
  /** Proxies whose X-Forwarded-For is believed; 0 trusts nobody's. */
  trustProxy: TrustProxy;
  /** Requests per client address (IPv6: per /64) and minute; 0 turns the limit off. */
  requestsPerMinute: number;
  /** Turns an error into the process's body; the relayer adds `ok:false`. */
  errorBody?: ErrorBody;
  /** Headers on every answer beside helmet's, or instead of them. */
  headers?: Readonly<Record<string, string>>;
  /** Answers CORS preflights; see `FrontOptions`. */
  preflight?: FrontOptions['preflight'];
  /** Refusal sent when the rate limit is hit; Retry-After is added to it. */
  rateLimited?: () => ApiError;
  /** Keeps each body's text for `bodyTextOf`: what JSON.parse forgives (a key given twice) shows only there. */
  keepBodyText?: boolean;
};

export type HttpApp = {
  /** Answers everything; to listen with. */
  app: RequestListener;
  /**
   * Adds a route, whose handlers find the body parsed; other methods on the path answer 405 with `Allow`, whatever body
   * they bring. GET also answers HEAD.
   */
  route: (method: Method, path: string, ...handlers: RequestHandler[]) => void;
  /** Lets a GET that `route` has added be answered before Express; both ways must say the same. */
  share: (route: SharedRoute) => void;
  /** Call once after all routes: adds 405, 404 and the error mapper. */
  finish: () => void;
};

/** Bodies as they came, for as long as their request lives. */
const bodyTexts = new WeakMap<IncomingMessage, string>();

/** The text of a parsed JSON body; null without one, or when the app does not keep it. */
export function bodyTextOf(request: IncomingMessage): string | null {
  return bodyTexts.get(request) ?? null;
}

/** Builds the app with everything that stands before the routes. */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { logger, metrics, errorBody = plainErrorBody } = options;
  const app = express();
  app.disable('x-powered-by');
  app.set('trust proxy', options.trustProxy);
  // A body that may be kept brings its own ETag and asks `hasAlready`. Express would give one to any other as well, and
  // answer `If-None-Match: *` by 304 even without.
  app.set('etag', false);
  Object.defineProperty(app.request, 'fresh', { value: false });
  app.set('query parser', 'simple');

  const addressOf = clientAddress(options.trustProxy);
  const keyOfAddress = clientKeys();
  const front = createFront({
    headers: staticHeaders({ Vary: 'Accept-Encoding', ...options.headers }),
    preflight: options.preflight ?? null,
    limiter: options.requestsPerMinute > 0 ? new RateLimiter(options.requestsPerMinute) : null,
    keyOf: (request) => keyOfAddress(addressOf(request)),
    refuse: (response, retryAfterSeconds) => {
      response.setHeader('Retry-After', String(retryAfterSeconds));
      sendError(response, options.rateLimited?.() ?? tooMany(), errorBody);
    },
    record: exchangeRecorder(logger, metrics),
    // Express calls this only for a fault after the answer has begun: it cannot be mended, only cut off.
    next: (request, response) =>
      app(request as express.Request, response as Response, () => response.destroy()),
  });

  app.use(compressed);
  addOperatorRoutes(app, options);
  // Part of each route: a body that goes nowhere is not read, and cannot be refused before its path or method is.
  const readBody: readonly RequestHandler[] = [requireJson, parseJson(options)];

  const methodsOf = new Map<string, Set<string>>(
    ['/health', '/ready', '/metrics'].map((path) => [path, new Set(['GET', 'HEAD'])]),
  );
  return {
    app: front.handle,
    share: front.share,
    route: (method, path, ...handlers) => {
      const methods = methodsOf.get(path) ?? new Set<string>();
      methods.add(method.toUpperCase());
      if (method === 'get') methods.add('HEAD');
      methodsOf.set(path, methods);
      app[method](path, ...readBody, ...handlers);
    },
    finish: () => {
      for (const [path, methods] of methodsOf) refuseOtherMethods(app, path, methods);
      const hint = methodsOf.has('/openapi.json') ? ': see /openapi.json for what there is' : '';
      app.use(() => {
        throw new ApiError('NOT_FOUND', `no such path${hint}`);
      });
      app.use(
        (error: unknown, _request: unknown, response: Response, next: (e: unknown) => void) => {
          if (response.headersSent) {
            next(error);
            return;
          }
          const mapped = mapError(error);
          if (mapped.code === 'SERVER') {
            keepFault(response, { err: mapped.cause instanceof Error ? mapped.cause : mapped });
          } else if (mapped.status >= 500) {
            keepFault(response, { why: mapped.message });
          }
          sendError(response, mapped, errorBody);
        },
      );
    },
  };
}

function tooMany(): ApiError {
  return new ApiError('PAUSED', 'too many requests: wait and retry', { status: 429 });
}

function addOperatorRoutes(app: Express, { readiness, metrics }: HttpAppOptions): void {
  app.get('/health', (_request, response) => {
    response.json({ ok: true });
  });
  app.get('/ready', (_request, response) => {
    const report = readinessReport(readiness);
    response
      .status(report.ready ? 200 : 503)
      .set('Cache-Control', 'no-store')
      .json(report);
  });
  app.get('/metrics', async (_request, response) => {
    response.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
}

const requireJson: RequestHandler = (request, _response, next) => {
  const hasBody =
    request.headers['transfer-encoding'] !== undefined ||
    (request.headers['content-length'] ?? '0') !== '0';
  if (request.method === 'POST' && hasBody && request.is('application/json') === false) {
    next(new ApiError('BAD_REQUEST', 'Content-Type must be application/json', { status: 415 }));
  } else {
    next();
  }
};

function parseJson(options: HttpAppOptions): RequestHandler {
  return express.json({
    limit: options.bodyLimitBytes,
    // `null` and `1` are JSON: that a route takes objects alone is the route's to say.
    strict: false,
    verify: (request: IncomingMessage, _response: unknown, body: Buffer, charset: string) => {
      // JSON between systems is UTF-8 (RFC 8259). Any other would be parsed as one text and checked as another.
      if (charset !== 'utf-8') throw new UnsupportedCharset();
      if (options.keepBodyText === true) bodyTexts.set(request, body.toString('utf8'));
    },
  });
}

/** Named as body-parser names those that it does not know itself. */
class UnsupportedCharset extends Error {
  readonly type = 'charset.unsupported';
  readonly status = 415;
}

/** OPTIONS tells what a path answers; anything else that it does not answer is refused with the same list. */
function refuseOtherMethods(app: Express, path: string, methods: ReadonlySet<string>): void {
  const allow = [...methods, 'OPTIONS'].join(', ');
  app.options(path, (_request, response) => {
    response.status(204).set('Allow', allow).end();
  });
  app.all(path, () => {
    throw new ApiError('METHOD_NOT_ALLOWED', `this path answers ${allow}`, {
      headers: { Allow: allow },
    });
  });
}
