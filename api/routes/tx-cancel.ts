import { buildCancel } from '../builds/cancel.ts';
import { sendFresh } from '../http/json-body.ts';
import { cancelRequest } from '../schemas/transactions.ts';
import { type RouteContext, requireBody } from './context.ts';

/** POST /v1/tx/cancel: the unsigned transaction that takes an open order back. */
export function txCancelRoute({ http, service }: RouteContext): void {
  http.route('post', '/v1/tx/cancel', async (request, response) => {
    const body = cancelRequest.parse(requireBody(request));
    sendFresh(request, response, await buildCancel(service, body));
  });
}
