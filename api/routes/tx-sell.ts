import { buildSell } from '../builds/sell.ts';
import { sendFresh } from '../http/json-body.ts';
import { sellRequest } from '../schemas/transactions.ts';
import { type RouteContext, requireBody } from './context.ts';

/** POST /v1/tx/sell: the unsigned transaction that sells shares for USDG. */
export function txSellRoute({ http, service }: RouteContext): void {
  http.route('post', '/v1/tx/sell', async (request, response) => {
    const body = sellRequest.parse(requireBody(request));
    sendFresh(request, response, await buildSell(service, body));
  });
}
