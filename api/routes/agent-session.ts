import { ReadBatch } from '../chain/read-batch.ts';
import { sendFresh } from '../http/json-body.ts';
import { sessionQuery } from '../schemas/agent.ts';
import { planSession, sessionJson } from '../session/read-session.ts';
import type { RouteContext } from './context.ts';

/** GET /v1/agent/session: the live permission of a key. Never cached; 502 when the chain is out of reach. */
export function agentSessionRoute({ http, service }: RouteContext): void {
  http.route('get', '/v1/agent/session', async (request, response) => {
    const { owner, key } = sessionQuery.parse(request.query);
    const account = await service.accounts.of(owner);
    const batch = new ReadBatch();
    const session = planSession(batch, service, owner, key, account);
    await batch.send(service.client, service.deployment.multicall3);
    sendFresh(request, response, sessionJson(service, session()));
  });
}
