import { sendFresh } from '../http/json-body.ts';
import { tradeRequest } from '../schemas/agent.ts';
import { buildTrade } from '../session/trade-plan.ts';
import { type RouteContext, requireBody } from './context.ts';

/** POST /v1/agent/trade: an unsigned session action with its typed data. Grants and widens nothing. */
export function agentTradeRoute({ http, service }: RouteContext): void {
  http.route('post', '/v1/agent/trade', async (request, response) => {
    const body = tradeRequest.parse(requireBody(request));
    sendFresh(request, response, await buildTrade(service, body));
  });
}
