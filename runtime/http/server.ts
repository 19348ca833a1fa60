/**
 * The one HTTP server: security headers, request ids, access log, request metrics, body limit, rate limit, the error
 * mapper, `/health`, `/ready` and `/metrics`. A process adds its routes and nothing else.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express, type RequestHandler, type Response } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import helmet from 'helmet';
import { pinoHttp } from 'pino-http';
import { z } from 'zod';
import { intOption, option, portOption } from '../config.ts';
import { ApiError } from '../errors.ts';
import { type Logger, redactSecrets } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import { type ReadinessCheck, readinessReport } from '../readiness.ts';
import { mapError } from './error-mapper.ts';

export type Method = 'get' | 'post';

export type HttpAppOptions = {
  logger: Logger;
  metrics: Metrics;
  readiness: readonly ReadinessCheck[];
  /** Largest request body in bytes. */
  bodyLimitBytes: number;
  /** Express's `trust proxy`: number of proxies in front; 0 trusts nobody's X-Forwarded-For. */
  trustProxy: number;
  /** Requests per client address (IPv6: per /64) and minute; 0 turns the limit off. */
  requestsPerMinute: number;
  /** Turns an error into the process's body; the relayer adds `ok:false`. */
  errorBody?: (error: ApiError) => Record<string, unknown>;
  /** Runs before everything that can refuse, so that what it sets (CORS headers) is on refusals too. */
  first?: readonly RequestHandler[];
  /** Refusal sent when the rate limit is hit. */
  rateLimited?: () => ApiError;
  /** Keeps each body's text for `bodyTextOf`: what JSON.parse forgives (a key given twice) shows only there. */
  keepBodyText?: boolean;
};

export type HttpApp = {
  app: Express;
  /** Adds a route; other methods on the path answer 405 with `Allow`. GET also answers HEAD. */
  route: (method: Method, path: string, ...handlers: RequestHandler[]) => void;
  /** Call once after all routes: adds 405, 404 and the error mapper. */
  finish: () => void;
};

export const httpOptions = z.object({
  HTTP_HOST: option(z.string().min(1).default('127.0.0.1'), {
    description: 'Address to listen on.',
    example: '127.0.0.1',
  }),
  HTTP_BODY_LIMIT_BYTES: option(intOption(1_024, 10_000_000).default(262_144), {
    description: 'Largest request body, in bytes.',
    example: '262144',
  }),
  HTTP_TRUST_PROXY: option(intOption(0, 10).default(0), {
    description: 'How many reverse proxies stand in front (0: X-Forwarded-For is not believed).',
    example: '0',
  }),
  HTTP_REQUESTS_PER_MINUTE: option(intOption(0, 1_000_000).default(1_200), {
    description:
      'Requests a client address (IPv6: a /64) may make in a minute; 0 turns the limit off.',
    example: '1200',
  }),
});

export { portOption };

/** Bodies as they came, for as long as their request lives. */
const bodyTexts = new WeakMap<IncomingMessage, string>();

/** The text of a parsed JSON body; null without one, or when the app does not keep it. */
export function bodyTextOf(request: IncomingMessage): string | null {
  return bodyTexts.get(request) ?? null;
}

const OPERATOR_PATHS = new Set(['/health', '/ready', '/metrics']);

function accessLog(logger: Logger): RequestHandler {
  return pinoHttp({
    logger,
    genReqId: (request, response) => {
      const given = request.headers['x-request-id'];
      const id = typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
      response.setHeader('X-Request-Id', redactSecrets(id));
      return redactSecrets(id);
    },
    // Probes and scrapes come every few seconds and say on their own page what is wrong.
    autoLogging: { ignore: ({ url }) => OPERATOR_PATHS.has(url ?? '') },
    customLogLevel: (_request, response) => (response.statusCode >= 500 ? 'warn' : 'debug'),
    customSuccessMessage: () => 'answered',
    customErrorMessage: () => 'answered with a fault',
    // A status of 500 alone is no error to print: the fault behind it is, where there is one.
    customErrorObject: (_request, response, _error, line: Record<string, unknown>) =>
      response.err === undefined ? { ...line, err: undefined } : line,
    wrapSerializers: false,
    serializers: {
      req: (request: { id: unknown; method: string; url: string }) => ({
        id: request.id,
        method: request.method,
        url: redactSecrets(request.url).slice(0, 300),
      }),
      res: (response: { statusCode: number }) => ({ status: response.statusCode }),
    },
  });
}

/** Builds the app with everything that stands before the routes. */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { logger, metrics } = options;
  const app = express();
  app.disable('x-powered-by');
  app.set('trust proxy', options.trustProxy);
  app.set('etag', 'strong');
  app.set('query parser', 'simple');

  const duration = metrics.histogram(
    'http_request_duration_seconds',
    'Time to answer a request, by route, method and status.',
    [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    ['route', 'method', 'status'],
  );
  app.use((request, response, next) => {
    const stop = duration.startTimer();
    response.once('close', () => {
      // The route's pattern, never the path: labels stay bounded and no user's address becomes one.
      const route = typeof request.route?.path === 'string' ? request.route.path : 'none';
      const method = ['GET', 'POST', 'HEAD', 'OPTIONS'].includes(request.method)
        ? request.method
        : 'other';
      stop({ route, method, status: String(response.statusCode) });
    });
    next();
  });
  app.use(accessLog(logger));
  app.use(helmet({ contentSecurityPolicy: { directives: { 'upgrade-insecure-requests': null } } }));

  for (const handler of options.first ?? []) app.use(handler);

  app.get('/health', (_request, response) => {
    response.json({ ok: true });
  });
  app.get('/ready', (_request, response) => {
    const report = readinessReport(options.readiness);
    response
      .status(report.ready ? 200 : 503)
      .set('Cache-Control', 'no-store')
      .json(report);
  });
  app.get('/metrics', async (_request, response) => {
    response.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });

  if (options.requestsPerMinute > 0) {
    app.use(
      rateLimit({
        windowMs: 60_000,
        limit: options.requestsPerMinute,
        standardHeaders: 'draft-7',
        legacyHeaders: false,
        keyGenerator: (request) => ipKeyGenerator(request.ip ?? 'unknown', 64),
        handler: (_request, _response, next) => {
          const limited =
            options.rateLimited?.() ??
            new ApiError('PAUSED', 'too many requests: wait and retry', {
              status: 429,
              headers: { 'Retry-After': '60' },
            });
          next(limited);
        },
      }),
    );
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
  const parseJson = express.json({
    limit: options.bodyLimitBytes,
    strict: true,
    ...(options.keepBodyText === true
      ? {
          verify: (request: IncomingMessage, _response: unknown, body: Buffer) => {
            bodyTexts.set(request, body.toString('utf8'));
          },
        }
      : {}),
  });
  app.use(requireJson, parseJson);

  const methodsOf = new Map<string, Set<string>>([
    ['/health', new Set(['GET', 'HEAD'])],
    ['/ready', new Set(['GET', 'HEAD'])],
    ['/metrics', new Set(['GET', 'HEAD'])],
  ]);

  return {
    app,
    route: (method, path, ...handlers) => {
      const methods = methodsOf.get(path) ?? new Set<string>();
      methods.add(method.toUpperCase());
      if (method === 'get') methods.add('HEAD');
      methodsOf.set(path, methods);
      app[method](path, ...handlers);
    },
    finish: () => {
      for (const [path, methods] of methodsOf) {
        const allow = [...methods].join(', ');
        app.all(path, () => {
          throw new ApiError('METHOD_NOT_ALLOWED', `this path answers ${allow}`, {
            headers: { Allow: allow },
          });
        });
      }
      app.use(() => {
        throw new ApiError('NOT_FOUND', 'no such path: see /openapi.json for what there is');
      });
      app.use(
        (error: unknown, _request: unknown, response: Response, next: (e: unknown) => void) => {
          if (response.headersSent) {
            next(error);
            return;
          }
          const mapped = mapError(error);
          if (mapped.code === 'SERVER')
            response.err = mapped.cause instanceof Error ? mapped.cause : mapped;
          response
            .status(mapped.status)
            .set({ 'Cache-Control': 'no-store', ...mapped.headers })
            .json(options.errorBody?.(mapped) ?? mapped.body());
        },
      );
    },
  };
}

export type Listening = { url: string; port: number; close: (deadlineMs: number) => Promise<void> };

/** Listens; rejects with a sentence that names the port when it is taken. */
export async function listen(
  app: Express,
  host: string,
  port: number,
  errorBody: (error: ApiError) => Record<string, unknown> = (error) => error.body(),
): Promise<Listening> {
  const server: Server = createServer(app);
  // A slow client must not hold a socket for ever.
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  server.keepAliveTimeout = 65_000;
  // What Node refuses before any route sees it (a request line of 20 kB, no HTTP at all) has the one shape too.
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return;
    const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
    const refusal = new ApiError(
      'BAD_REQUEST',
      tooLarge ? 'the request line or headers are too large' : 'this is not a valid HTTP request',
      tooLarge ? { status: 413 } : {},
    );
    const body = JSON.stringify(errorBody(refusal));
    socket.end(
      `HTTP/1.1 ${refusal.status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`port ${port} on ${host} is taken: stop what uses it or set another port`)
          : error,
      );
    });
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: (deadlineMs) =>
      new Promise<void>((resolve) => {
        const force = setTimeout(() => server.closeAllConnections(), deadlineMs);
        // A kept-alive connection goes idle only after its last answer: ask again until all are gone.
        const idle = setInterval(() => server.closeIdleConnections(), 50);
        server.close(() => {
          clearTimeout(force);
          clearInterval(idle);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}
