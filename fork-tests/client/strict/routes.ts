/** Which shape a response must have, by its request and status: every route of the documents. */
import { positions, orders, strategies, wallet } from './account.ts';
import { session, trade } from './agent.ts';
import { book } from './cover-book.ts';
import { coverPlan } from './cover-plan.ts';
import { coverPositions } from './cover-positions.ts';
import { weeks } from './cover.ts';
import { errorBody } from './errors.ts';
import { history } from './history.ts';
import { jobs, jobsChanges, payouts, sellRoutes } from './jobs.ts';
import { basket, baskets, health, markets, root, stats } from './marks.ts';
import * as plans from './plans.ts';
import { matching } from './formats.ts';
import { map } from './collections.ts';
import { object, type Shape } from './shape.ts';

export type Request = { method: 'GET' | 'POST'; path: string; body?: unknown };

type Reader = (query: URLSearchParams) => Shape<unknown>;

const always =
  (shape: Shape<unknown>): Reader =>
  () =>
    shape;

/** A machine description; its own tests go through it, here only what the documents say of it. */
const openapi = object({
  openapi: matching(/^3\.1\.\d+$/, 'OpenAPI 3.1', ['3.0.3']),
  info: object({ version: matching(/^1\.0\.0$/, '1.0.0') }),
  paths: map(object({}), { open: () => true }),
});

const READS: readonly (readonly [string, Reader])[] = [
  ['/', always(root)],
  ['/health', always(health)],
  ['/openapi.json', always(openapi)],
  ['/v1/baskets', baskets],
  ['/v1/indexes', baskets],
  ['/v1/baskets/{ticker}', always(basket)],
  ['/v1/indexes/{ticker}', always(basket)],
  ['/v1/stats', always(stats)],
  ['/v1/markets', markets],
  ['/v1/nav/{ticker}/history', history],
  ['/v1/wallet/{address}', always(wallet)],
  ['/v1/positions/{address}', always(positions)],
  ['/v1/orders/{address}', always(orders)],
  ['/v1/strategies/{address}', always(strategies)],
  ['/v1/jobs', always(jobs)],
  ['/v1/jobs/changes', always(jobsChanges)],
  ['/v1/leverage/sell-routes', always(sellRoutes)],
  ['/v1/cover/weeks', always(weeks)],
  ['/v1/cover/book/{ticker}', book],
  ['/v1/cover/positions/{account}', always(coverPositions)],
  ['/v1/cover/payouts', always(payouts)],
  ['/v1/agent/session', always(session)],
];

const BUILDS: readonly (readonly [string, Reader])[] = [
  ['/v1/tx/buy', always(plans.buy)],
  ['/v1/tx/sell', always(plans.sell)],
  ['/v1/tx/exit', always(plans.exit)],
  ['/v1/tx/limit', always(plans.limit)],
  ['/v1/tx/redeem', always(plans.redeem)],
  ['/v1/tx/cancel', always(plans.cancel)],
  ['/v1/tx/schedule', always(plans.schedule)],
  ['/v1/agent/trade', always(trade)],
  ['/v1/agent/cover', always(coverPlan)],
];

/** Every route that has an answer of its own, as `GET /v1/baskets/{ticker}`. */
export const ROUTES: readonly string[] = [
  ...READS.map(([path]) => `GET ${path}`),
  ...BUILDS.map(([path]) => `POST ${path}`),
];

function fits(template: string, path: string): boolean {
  const parts = path.split('/');
  const wanted = template.split('/');
  return (
    parts.length === wanted.length &&
    wanted.every((part, index) => part === parts[index] || (part.startsWith('{') && parts[index]))
  );
}

/** The documents' name of the route, as `GET /v1/baskets/{ticker}`; null for what they do not know. */
export function routeOf({ method, path }: Request): string | null {
  const found = find(method, path);
  return found === undefined ? null : `${method} ${found[0]}`;
}

function find(method: string, target: string) {
  const path = target.split('?')[0] ?? '';
  return (method === 'GET' ? READS : BUILDS).find(([template]) => fits(template, path));
}

/**
 * The shape that the documents give to this response.
 * @throws where they know no such route and the status says that there is one
 */
export function shapeOf(request: Request, status: number): Shape<unknown> {
  const [path = '', query = ''] = request.path.split('?');
  if (status >= 400) return errorBody({ method: request.method, path }, status);
  if (status !== 200) throw new Error(`${request.method} ${request.path} answered ${status}`);
  const route = find(request.method, path);
  if (route === undefined) throw new Error(`no document knows ${request.method} ${path}`);
  return route[1](new URLSearchParams(query));
}
