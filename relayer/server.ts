/** The relayer's HTTP side: four routes on the one server. */
import type { RequestListener } from 'node:http';
import { ApiError } from '../runtime/errors.ts';
import type { TrustProxy } from '../runtime/http/client-address.ts';
import { createHttpApp } from '../runtime/http/server.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ReadinessCheck } from '../runtime/readiness.ts';
import type { Sender } from '../runtime/sender/types.ts';
import type { Outcome } from './answer.ts';
import type { Receipts } from './receipts.ts';
import { relayErrorBody } from './refusal.ts';
import type { Relay } from './relay.ts';
import { actionStatusRoute } from './routes/action-status.ts';
import { executeRoute } from './routes/execute.ts';
import { nonceStatusRoute } from './routes/nonce-status.ts';
import { createStatusWaits } from './routes/status-wait.ts';
import type { SlotStore } from './slot-store.ts';

export type ServerDeps = {
  logger: Logger;
  metrics: Metrics;
  readiness: readonly ReadinessCheck[];
  http: { bodyLimitBytes: number; trustProxy: TrustProxy; requestsPerMinute: number };
  relay: Relay;
  slots: SlotStore;
  sender: Sender;
  receipts: Receipts;
} & Pick<Parameters<typeof nonceStatusRoute>[0], 'modules' | 'nonceState' | 'usedBy'>;

export function createServer(deps: ServerDeps): RequestListener {
  const { metrics, relay, slots, sender } = deps;
  const answers = metrics.counter('answers_total', 'Answers to posted actions, by code.', ['code']);
  const { app, route, finish } = createHttpApp({
    logger: deps.logger,
    metrics,
    readiness: deps.readiness,
    ...deps.http,
    keepBodyText: true,
    errorBody: relayErrorBody,
    rateLimited: () => new ApiError('RATE_LIMITED', 'too many requests: wait and retry'),
  });
  const count = (outcome: Outcome): void => {
    const code =
      outcome.tag === 'refused'
        ? outcome.refusal.code
        : outcome.answer.status === 200
          ? 'MINED'
          : 'PENDING';
    answers.inc({ code });
  };
  route('post', '/relay/v1/account/execute', executeRoute(relay, 'any', count));
  route('post', '/relay/v1/account/cover', executeRoute(relay, 'cover', count));
  const waits = createStatusWaits({ sender, unlessStopped: relay.unlessStopped });
  const status = { slots, sender, waits, receipts: deps.receipts };
  route('get', '/relay/v1/actions/:digest', actionStatusRoute(status));
  route(
    'get',
    '/relay/v1/account/:account/nonce/:nonce',
    nonceStatusRoute({
      ...status,
      modules: deps.modules,
      nonceState: deps.nonceState,
      usedBy: deps.usedBy,
    }),
  );
  finish();
  return app;
}
