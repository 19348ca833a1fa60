import { sendFresh } from '../http/json-body.ts';
import { addressPath } from '../schemas/reads.ts';
import { readWallet } from '../wallet/read-wallet.ts';
import type { RouteContext } from './context.ts';

/** GET /v1/wallet/{address}: balances, holdings, gas. */
export function walletRoute({ http, service }: RouteContext): void {
  http.route('get', '/v1/wallet/:address', async (request, response) => {
    const { address } = addressPath.parse(request.params);
    sendFresh(request, response, await readWallet(service, address));
  });
}
