import { sendSerialised, wantsPretty } from '../http/json-body.ts';
import { marketsQuery } from '../schemas/reads.ts';
import { MARKS_CACHE, type RouteContext } from './context.ts';

/** GET /v1/markets: nav, change and cost of all baskets, and constituent prices. Costs no RPC. */
export function marketsRoute({ http, bodies }: RouteContext): void {
  http.route('get', '/v1/markets', (request, response) => {
    const { fields, prices } = marketsQuery.parse(request.query);
    sendSerialised(
      request,
      response,
      bodies.markets(fields, prices !== '0', wantsPretty(request)),
      MARKS_CACHE,
    );
  });
}
