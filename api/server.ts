/** The api's HTTP surface: every route by name. */

import { createHttpApp, type HttpApp } from '../runtime/http/server.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ReadinessCheck } from '../runtime/readiness.ts';
import type { ApiConfig } from './config.ts';
import { ENDPOINTS } from './endpoints/index.ts';
import { cors } from './http/cors.ts';
import { mount } from './http/endpoint.ts';
import { JobBoard } from './jobs/board.ts';
import { MarkBodies } from './marks/mark-bodies.ts';
import { agentSessionRoute } from './routes/agent-session.ts';
import { agentTradeRoute } from './routes/agent-trade.ts';
import { basketsRoute } from './routes/baskets.ts';
import type { RouteContext } from './routes/context.ts';
import { jobsRoute } from './routes/jobs.ts';
import { ordersRoute } from './routes/orders.ts';
import { rootRoute } from './routes/root.ts';
import { txCancelRoute } from './routes/tx-cancel.ts';
import { txExitRoute } from './routes/tx-exit.ts';
import { txLimitRoute } from './routes/tx-limit.ts';
import { txSellRoute } from './routes/tx-sell.ts';
import { walletRoute } from './routes/wallet.ts';
import type { Service } from './service.ts';

const ROUTES = [
  rootRoute,
  basketsRoute,
  walletRoute,
  ordersRoute,
  jobsRoute,
  txSellRoute,
  txExitRoute,
  txLimitRoute,
  txCancelRoute,
  agentSessionRoute,
  agentTradeRoute,
] satisfies ((context: RouteContext) => void)[];

export function createApiApp(options: {
  config: ApiConfig;
  service: Service;
  logger: Logger;
  metrics: Metrics;
  readiness: readonly ReadinessCheck[];
}): HttpApp {
  const { config, service, logger, metrics, readiness } = options;
  const http = createHttpApp({
    logger,
    metrics,
    readiness,
    bodyLimitBytes: config.HTTP_BODY_LIMIT_BYTES,
    trustProxy: config.HTTP_TRUST_PROXY,
    requestsPerMinute: config.HTTP_REQUESTS_PER_MINUTE,
    first: [cors],
  });
  const context = {
    http,
    service,
    bodies: new MarkBodies(service.marks),
    board: new JobBoard(service),
  };
  for (const route of ROUTES) route(context);
  for (const endpoint of ENDPOINTS) mount(endpoint, context);
  http.finish();
  return http;
}
