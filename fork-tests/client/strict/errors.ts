/** The one error body and the closed table of its codes (wire.md, Errors). */
import { flag, words } from './formats.ts';
import { literal, object, ruled, type Shape } from './shape.ts';

/** What the table depends on beside the code. */
export type Asked = { method: string; path: string };

type Row = { retryable: boolean; statuses: (asked: Asked) => readonly number[] };

const fixed = (status: number, retryable = false): Row => ({
  retryable,
  statuses: () => [status],
});

const isBuild = ({ path }: Asked): boolean => path.startsWith('/v1/tx/');
const isAgent = ({ path }: Asked): boolean => path.startsWith('/v1/agent/');
const isAgentCover = ({ path }: Asked): boolean => path === '/v1/agent/cover';
const isBook = ({ path }: Asked): boolean => path.startsWith('/v1/cover/book/');
const namesBasket = ({ path }: Asked): boolean =>
  /^\/v1\/(baskets|indexes|nav|cover\/book)\//.test(path);

const on = (holds: (asked: Asked) => boolean, status: number) => (asked: Asked) =>
  holds(asked) ? [status] : [];

export const ERRORS = {
  BAD_REQUEST: { retryable: false, statuses: () => [400, 413, 415] },
  UNKNOWN_BASKET: { retryable: false, statuses: (asked) => [namesBasket(asked) ? 404 : 400] },
  NOT_FOUND: fixed(404),
  METHOD_NOT_ALLOWED: fixed(405),
  INSUFFICIENT_SHARES: {
    retryable: false,
    statuses: (asked) => [...on(isBuild, 400)(asked), ...on(isAgent, 422)(asked)],
  },
  SESSION_INACTIVE: { retryable: false, statuses: on(isAgent, 403) },
  SESSION_LIMIT: { retryable: false, statuses: on(isAgent, 403) },
  ORDER_NOT_OPEN: {
    retryable: false,
    statuses: (asked) => (asked.path === '/v1/tx/cancel' ? [409] : on(isAgentCover, 422)(asked)),
  },
  NO_ROUTE: fixed(422),
  NO_REFERENCE: fixed(422),
  INSUFFICIENT_FUNDS: { retryable: false, statuses: on(isAgent, 422) },
  NOT_A_HOLDER: { retryable: false, statuses: on(isAgentCover, 422) },
  NO_COVER: { retryable: false, statuses: on(isAgentCover, 422) },
  COVER_CLOSED: {
    retryable: false,
    statuses: on((asked) => isAgentCover(asked) || isBook(asked), 422),
  },
  NOT_IMPLEMENTED: fixed(501),
  UPSTREAM: fixed(502, true),
  PAUSED: { retryable: true, statuses: () => [429, 503] },
  SERVER: fixed(500, true),
} satisfies Record<string, Row>;

export type ErrorCode = keyof typeof ERRORS;
const CODES = Object.keys(ERRORS) as ErrorCode[];

/** The error bodies that this request may be answered with under this status. */
export function errorBody(asked: Asked, status: number) {
  return ruled(
    object({ error: words, code: literal(...CODES), retryable: flag }),
    ({ code, retryable }) =>
      ERRORS[code].retryable === retryable ? undefined : `${code} is not retryable: ${retryable}`,
    ({ code }) =>
      ERRORS[code].statuses(asked).includes(status) ? undefined : `${code} with ${status}`,
  ) as Shape<{ error: string; code: ErrorCode; retryable: boolean }>;
}
