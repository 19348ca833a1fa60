/** The api's HTTP surface: every endpoint by name. */
import { createHttpApp, type HttpApp } from '../runtime/http/server.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ReadinessCheck } from '../runtime/readiness.ts';
import { approveRoute } from './approval/approve-page.ts';
import type { ApiConfig } from './config.ts';
import { payoutBoard } from './cover/payouts.ts';
import { docsRoute } from './discovery/docs-page.ts';
import { spelled } from './discovery/documents.ts';
import { rootDocument } from './discovery/root-document.ts';
import { ENDPOINTS } from './endpoints/index.ts';
import { Guide } from './guide/guide.ts';
import { answerPreflight, CORS_HEADERS } from './http/cors.ts';
import { mount } from './http/endpoint.ts';
import { dueBoard, jobBoard } from './jobs/scan.ts';
import { MarkBodies } from './marks/mark-bodies.ts';
import { errorBodyFor } from './mcp/json-rpc.ts';
import { mcpRoute } from './mcp/route.ts';
import { openApiDocument } from './openapi/document.ts';
import type { Service } from './service.ts';

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
    headers: CORS_HEADERS,
    preflight: answerPreflight,
    errorBody: errorBodyFor,
    // Dollars are read as they were written.
    keepBodyText: true,
  });
  const context = {
    http,
    service,
    bodies: new MarkBodies(service.marks),
    board: jobBoard(service),
    due: dueBoard(service),
    payouts: payoutBoard(service),
    documents: {
      root: spelled(rootDocument(service, ENDPOINTS)),
      openapi: spelled(openApiDocument(ENDPOINTS, service.urls.base)),
    },
    guide: new Guide(service, ENDPOINTS, config.MCP_TOOL_PREFIX),
    readBudgetMs: config.READ_BUDGET_MS,
    buildBudgetMs: config.BUILD_BUDGET_MS,
  };
  for (const endpoint of ENDPOINTS) mount(endpoint, context);
  docsRoute(context);
  approveRoute(context);
  mcpRoute(context, {
    logger: logger.child({ module: 'mcp' }),
    metrics,
    prefix: config.MCP_TOOL_PREFIX,
    listenHost: config.HTTP_HOST,
    addedHosts: config.MCP_ALLOWED_HOSTS,
  });
  http.finish();
  return http;
}
