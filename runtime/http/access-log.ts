/** One log line and one observation per request, written when its answer is out or its client is gone. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Logger, redactSecrets } from '../logger.ts';
import type { Metrics } from '../metrics.ts';

/** Probes and scrapes come every few seconds and say on their own page what is wrong. */
export const OPERATOR_PATHS: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics']);

/** Below this no 32 bytes of hex can hide. */
const SHORTEST_SECRET = 64;
const MAX_LOGGED_URL = 300;

/** Whether 32 bytes of hex stand in a request target, percent-encoded or not. */
export function holdsSecret(url: string): boolean {
  const decoded = decodedUrl(url);
  return redactSecrets(decoded) !== decoded || redactSecrets(url) !== url;
}

function decodedUrl(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    // expected: not every URL is valid
    return url;
  }
}

/** A request target as it may be logged: 32 bytes of hex are left out, percent-encoded ones too. */
export function loggableUrl(url: string): string {
  if (url.length < SHORTEST_SECRET) return url;
  const decoded = decodedUrl(url);
  const shown = redactSecrets(decoded) === decoded ? redactSecrets(url) : redactSecrets(decoded);
  return shown.slice(0, MAX_LOGGED_URL);
}

/** A client that left before its answer was out: nginx's number for it. */
const CLIENT_GONE = 499;

const METHODS = new Set(['GET', 'POST', 'HEAD', 'OPTIONS']);

/** What stands behind an answer of 5xx, for its log line. */
export type Fault =
  /** Unexpected: the answer itself says nothing of it. */
  | { err: Error }
  /** Told to the client in these words too. */
  | { why: string };

const faults = new WeakMap<ServerResponse, Fault>();

export function keepFault(response: ServerResponse, fault: Fault): void {
  faults.set(response, fault);
}

export type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  id: string;
  /** `performance.now()` when the request came. */
  startedAt: number;
  /** Pattern of the route: never the path, so labels stay bounded and no user's address becomes one. */
  route: string | null;
};

/** Registers the metric. The function it returns is called once per request, at its end. */
export function exchangeRecorder(logger: Logger, metrics: Metrics): (exchange: Exchange) => void {
  const duration = metrics.histogram(
    'http_request_duration_seconds',
    'Time to answer a request, by route, method and status.',
    [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    ['route', 'method', 'status'],
  );
  const observers = new Map<string, (seconds: number) => void>();
  const observe = (exchange: Exchange, status: number, seconds: number): void => {
    const method = METHODS.has(exchange.request.method ?? '') ? exchange.request.method : 'other';
    const route = exchange.route ?? 'none';
    const key = `${method} ${status} ${route}`;
    let observer = observers.get(key);
    if (observer === undefined) {
      const labelled = duration.labels(route, String(method), String(status));
      observer = (seconds) => labelled.observe(seconds);
      observers.set(key, observer);
    }
    observer(seconds);
  };
  return (exchange) => {
    const { request, response } = exchange;
    const milliseconds = performance.now() - exchange.startedAt;
    const status = response.writableFinished ? response.statusCode : CLIENT_GONE;
    observe(exchange, status, milliseconds / 1_000);
    const level = status >= 500 ? 'warn' : 'debug';
    const url = request.url ?? '';
    if (!logger.isLevelEnabled(level) || OPERATOR_PATHS.has(url)) return;
    logger[level](
      {
        req: { id: exchange.id, method: request.method, url: loggableUrl(url) },
        res: { status },
        ...faults.get(response),
        responseTime: Math.round(milliseconds),
      },
      level === 'warn' ? 'answered with a fault' : 'answered',
    );
  };
}
