import { buildExit } from '../builds/exit.ts';
import { sendFresh } from '../http/json-body.ts';
import { exitRequest } from '../schemas/transactions.ts';
import { type RouteContext, requireBody } from './context.ts';

/** POST /v1/tx/exit: the unsigned transaction that places a stop-loss, a take-profit or both. */
export function txExitRoute({ http, service }: RouteContext): void {
  http.route('post', '/v1/tx/exit', async (request, response) => {
    const body = exitRequest.parse(requireBody(request));
    sendFresh(request, response, await buildExit(service, body));
  });
}
