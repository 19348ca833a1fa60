/** The relayer's HTTP side: three routes on the one server. */
import type { RequestListener } from 'node:http';
import type { Address } from 'viem';
import { ApiError } from '../runtime/errors.ts';
import type { TrustProxy } from '../runtime/http/client-address.ts';
import { createHttpApp } from '../runtime/http/server.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ReadinessCheck } from '../runtime/readiness.ts';
import type { Sender } from '../runtime/sender/types.ts';
import { relayErrorBody } from './refusal.ts';
import type { Relay } from './relay.ts';
import { actionStatusRoute } from './routes/action-status.ts';
import { executeRoute } from './routes/execute.ts';
import { nonceStatusRoute } from './routes/nonce-status.ts';
import type { SlotStore } from './slot-store.ts';

export type ServerDeps = {
  logger: Logger;
  metrics: Metrics;
  readiness: readonly ReadinessCheck[];
  http: { bodyLimitBytes: number; trustProxy: TrustProxy; requestsPerMinute: number };
  relay: Relay;
  slots: SlotStore;
  sender: Sender;
  module: Address;
  nonceUsed: (account: Address, nonce: bigint) => Promise<boolean>;
};

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
  route(
    'post',
    '/relay/v1/account/execute',
    executeRoute(relay, (outcome) => {
      const code =
        outcome.tag === 'refused'
          ? outcome.refusal.code
          : outcome.answer.status === 200
            ? 'MINED'
            : 'PENDING';
      answers.inc({ code });
    }),
  );
  route('get', '/relay/v1/actions/:digest', actionStatusRoute(slots, sender));
  route(
    'get',
    '/relay/v1/account/:account/nonce/:nonce',
    nonceStatusRoute({ module: deps.module, slots, sender, nonceUsed: deps.nonceUsed }),
  );
  finish();
  return app;
}
