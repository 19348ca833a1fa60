import { buildLimit } from '../builds/limit.ts';
import { sendFresh } from '../http/json-body.ts';
import { limitRequest } from '../schemas/transactions.ts';
import { type RouteContext, requireBody } from './context.ts';

/** POST /v1/tx/limit: the unsigned transaction that places a resting buy. */
export function txLimitRoute({ http, service }: RouteContext): void {
  http.route('post', '/v1/tx/limit', async (request, response) => {
    const body = limitRequest.parse(requireBody(request));
    sendFresh(request, response, await buildLimit(service, body));
  });
}
