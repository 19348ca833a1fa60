/**
 * The usual middleware stack with the same protections, each from its library. It is what the api's own front is
 * compared with: by the bench for speed, and by the tests header by header.
 */
import { randomUUID } from 'node:crypto';
import compression from 'compression';
import express, { type Express } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import helmet from 'helmet';
import { pinoHttp } from 'pino-http';
import { CORS_HEADERS } from '../../../api/http/cors.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Metrics } from '../../../runtime/metrics.ts';

export type UsualOptions = {
  logger: Logger;
  metrics: Metrics;
  requestsPerMinute: number;
  /** The body of `/v1/markets`, as JSON text. */
  body: () => string;
};

export function usualStack({ logger, metrics, requestsPerMinute, body }: UsualOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('trust proxy', 0);
  app.set('etag', 'strong');
  const duration = metrics.histogram(
    'http_request_duration_seconds',
    'Time to answer a request, by route, method and status.',
    [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    ['route', 'method', 'status'],
  );
  app.use((request, response, next) => {
    const stop = duration.startTimer();
    response.once('close', () => {
      const route = typeof request.route?.path === 'string' ? request.route.path : 'none';
      stop({ route, method: request.method, status: String(response.statusCode) });
    });
    next();
  });
  app.use(
    pinoHttp({
      logger,
      genReqId: (request, response) => {
        const given = request.headers['x-request-id'];
        const id = typeof given === 'string' && /^[\w-]{1,40}$/.test(given) ? given : randomUUID();
        response.setHeader('X-Request-Id', id);
        return id;
      },
      customLogLevel: (_request, response) => (response.statusCode >= 500 ? 'warn' : 'debug'),
      customSuccessMessage: () => 'answered',
      wrapSerializers: false,
      serializers: {
        req: (request: { id: unknown; method: string; url: string }) => ({
          id: request.id,
          method: request.method,
          url: request.url,
        }),
        res: (response: { statusCode: number }) => ({ status: response.statusCode }),
      },
    }),
  );
  app.use(helmet({ contentSecurityPolicy: { directives: { 'upgrade-insecure-requests': null } } }));
  app.use((_request, response, next) => {
    // The library says so on answers with a body alone; RFC 9110 wants it on a 304 as well.
    response.set(CORS_HEADERS).vary('Accept-Encoding');
    next();
  });
  app.use(
    rateLimit({
      windowMs: 60_000,
      limit: requestsPerMinute,
      standardHeaders: 'draft-7',
      legacyHeaders: false,
      keyGenerator: (request) => ipKeyGenerator(request.ip ?? 'unknown', 64),
      handler: (_request, response) => {
        response
          .status(429)
          .set('Cache-Control', 'no-store')
          .json({ error: 'too many requests: wait and retry', code: 'PAUSED', retryable: true });
      },
    }),
  );
  app.use(compression({ threshold: 8_192 }));
  app.use(express.json({ limit: 262_144 }));
  app.get('/v1/markets', (_request, response) => {
    response.set('Cache-Control', 'public, max-age=1').type('application/json').send(body());
  });
  return app;
}
