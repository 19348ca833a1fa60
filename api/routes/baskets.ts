import { sendSerialised, wantsPretty } from '../http/json-body.ts';
import { basketsQuery } from '../schemas/reads.ts';
import { basketOf } from '../service.ts';
import { MARKS_CACHE, type RouteContext } from './context.ts';

/** GET /v1/baskets and /v1/baskets/{ticker}; /v1/indexes is an alias of both. Costs no RPC. */
export function basketsRoute({ http, service, bodies }: RouteContext): void {
  for (const path of ['/v1/baskets', '/v1/indexes']) {
    http.route('get', path, (request, response) => {
      const { fields } = basketsQuery.parse(request.query);
      sendSerialised(request, response, bodies.baskets(fields, wantsPretty(request)), MARKS_CACHE);
    });
    http.route('get', `${path}/:ticker`, (request, response) => {
      const basket = basketOf(service, String(request.params.ticker), 404);
      sendSerialised(request, response, bodies.basket(basket, wantsPretty(request)), MARKS_CACHE);
    });
  }
}
