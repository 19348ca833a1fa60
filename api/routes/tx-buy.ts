import { buildBuy } from '../builds/buy.ts';
import { sendFresh } from '../http/json-body.ts';
import { buyRequest } from '../schemas/transactions.ts';
import { type RouteContext, requireBody } from './context.ts';

/** POST /v1/tx/buy: the unsigned transaction that buys a basket for exact USDG. */
export function txBuyRoute({ http, service }: RouteContext): void {
  http.route('post', '/v1/tx/buy', async (request, response) => {
    const body = buyRequest.parse(requireBody(request));
    sendFresh(request, response, await buildBuy(service, body));
  });
}
