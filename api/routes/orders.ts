import { ApiError } from '../../runtime/errors.ts';
import { sendFresh } from '../http/json-body.ts';
import { confirmOpen } from '../orders/order-index.ts';
import { orderJson } from '../orders/order-json.ts';
import { addressPath } from '../schemas/reads.ts';
import type { RouteContext } from './context.ts';

/** GET /v1/orders/{address}: open orders, from the index and confirmed on chain. */
export function ordersRoute({ http, service }: RouteContext): void {
  const { client, deployment, indexer, marks, orders } = service;
  http.route('get', '/v1/orders/:address', async (request, response) => {
    const { address } = addressPath.parse(request.params);
    // Half an index would make open orders look gone.
    if (!indexer.caughtUp) {
      throw new ApiError('UPSTREAM', 'the order index is still reading the chain: retry');
    }
    const catalog = marks.catalog();
    const open = await confirmOpen(client, deployment, await orders.openOf(address));
    sendFresh(request, response, {
      address,
      orders: open.map((order) => orderJson(order, catalog)),
    });
  });
}
