/** Refusals as OpenAPI responses: one per status, with every code that it may carry there (wire.md, Errors). */
import type { oas31 } from 'zod-openapi';
import { ERROR_TABLE, type ErrorCode } from '../../runtime/errors.ts';
import type { Endpoint, Refusal } from '../http/endpoint.ts';
import { headersOf } from './components.ts';

/** What each code means to a client, in the table's order; the api's own, not the relayer's. */
const MEANINGS = {
  BAD_REQUEST: 'the request is not valid; `error` names the field',
  UNKNOWN_BASKET: 'no basket has this ticker',
  NOT_FOUND: 'there is no such thing',
  METHOD_NOT_ALLOWED: 'the path does not answer this method',
  INSUFFICIENT_SHARES: 'fewer shares are held than this needs',
  SESSION_INACTIVE: 'the owner must approve this key, or turn cover on',
  SESSION_LIMIT: "a limit of the owner's grant is reached",
  ORDER_NOT_OPEN: 'the order is filled, cancelled or sent back already',
  NO_ROUTE: 'a constituent cannot be traded for this amount now; nothing partial is built',
  NO_REFERENCE: 'the basket has no 10-minute average NAV for this',
  INSUFFICIENT_FUNDS: 'less USDG is held than this needs',
  NOT_A_HOLDER: 'cover is for those who hold the basket',
  NO_COVER: 'the book does not hold this cover at this price',
  COVER_CLOSED: 'the cover market is closed',
  NOT_IMPLEMENTED: 'not offered',
  UPSTREAM: 'the chain cannot be read now: retry',
  PAUSED: 'paused: retry later',
  SERVER: 'an unexpected fault: retry',
} as const satisfies Partial<Record<ErrorCode, string>>;

type ApiCode = keyof typeof MEANINGS;

const API_CODES = Object.keys(MEANINGS) as ApiCode[];

export const ERROR_SCHEMA: oas31.SchemaObject = {
  type: 'object',
  description: 'The one shape of every refusal. Branch on `code`.',
  required: ['error', 'code', 'retryable'],
  properties: {
    error: { type: 'string', description: 'What is wrong and what would help, for a reader.' },
    code: { type: 'string', enum: API_CODES },
    retryable: {
      type: 'boolean',
      description: 'Whether the same request may succeed later.',
    },
  },
};

/** A code with the status it is answered with. */
type Refused = { status: number; code: ErrorCode };

function refused(refusal: Refusal): Refused {
  return typeof refusal === 'string'
    ? { status: ERROR_TABLE[refusal].status, code: refusal }
    : refusal;
}

/** What every endpoint that this list mounts may answer beyond its own refusals. */
function sharedRefusals(endpoint: Endpoint): Refused[] {
  const takesInput = [endpoint.params, endpoint.query, endpoint.body].some((part) => part);
  const hasBody = endpoint.body !== undefined;
  return [
    ...(takesInput ? [{ status: 400, code: 'BAD_REQUEST' as const }] : []),
    ...(hasBody ? [413, 415].map((status) => ({ status, code: 'BAD_REQUEST' as const })) : []),
    { status: 429, code: 'PAUSED' },
    { status: 500, code: 'SERVER' },
  ];
}

/** Every refusal of an endpoint. Those mounted elsewhere name all of theirs themselves. */
export function refusalsOf(endpoint: Endpoint): Refused[] {
  const own = endpoint.refusals.map(refused);
  const shared = endpoint.external === true ? [] : sharedRefusals(endpoint);
  return [...shared, { status: 405, code: 'METHOD_NOT_ALLOWED' }, ...own];
}

/** Codes by status, each once. */
export function codesByStatus(endpoint: Endpoint): Map<number, ErrorCode[]> {
  const codes = new Map<number, ErrorCode[]>();
  for (const { status, code } of refusalsOf(endpoint)) {
    const known = codes.get(status) ?? [];
    if (!known.includes(code)) codes.set(status, [...known, code]);
  }
  return new Map([...codes].sort(([a], [b]) => a - b));
}

/** Statuses whose meaning is the status's own, whatever the code's usual one. */
const STATUS_MEANINGS: Readonly<Record<number, string>> = {
  405: 'Any other method on this path.',
  413: 'BAD_REQUEST: the body is too large.',
  415: 'BAD_REQUEST: the body is not application/json, or in an encoding that is not supported.',
  429: 'PAUSED: too many requests from this client address.',
};

function meaning(code: ErrorCode): string {
  return code in MEANINGS ? MEANINGS[code as ApiCode] : code;
}

export function errorResponse(status: number, codes: readonly ErrorCode[]): oas31.ResponseObject {
  const retryable = codes.map((code) => ERROR_TABLE[code].retryable);
  const [first] = retryable;
  const alike = retryable.every((each) => each === first);
  return {
    description:
      STATUS_MEANINGS[status] ?? codes.map((code) => `${code}: ${meaning(code)}.`).join(' '),
    headers: headersOf(
      'RequestId',
      'CacheControl',
      ...(status === 405 ? (['Allow'] as const) : []),
      ...(status === 429 ? (['RetryAfter', 'RateLimit', 'RateLimitPolicy'] as const) : []),
    ),
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Error' },
            {
              type: 'object',
              properties: {
                code: { type: 'string', enum: [...codes] },
                ...(alike ? { retryable: { type: 'boolean', enum: [first] } } : {}),
              },
            },
          ],
        },
      },
    },
  };
}

/** Responses that are the same wherever they occur: components, by name. */
export const SHARED_RESPONSES: Readonly<Record<string, { status: number; codes: ErrorCode[] }>> = {
  InvalidRequest: { status: 400, codes: ['BAD_REQUEST'] },
  MethodNotAllowed: { status: 405, codes: ['METHOD_NOT_ALLOWED'] },
  BodyTooLarge: { status: 413, codes: ['BAD_REQUEST'] },
  WrongMediaType: { status: 415, codes: ['BAD_REQUEST'] },
  TooManyRequests: { status: 429, codes: ['PAUSED'] },
  UnexpectedFault: { status: 500, codes: ['SERVER'] },
  ChainUnreachable: { status: 502, codes: ['UPSTREAM'] },
};

/** All error responses of an endpoint, shared ones by reference. */
export function errorResponses(
  endpoint: Endpoint,
): Record<string, oas31.ResponseObject | oas31.ReferenceObject> {
  const entries = [...codesByStatus(endpoint)].map(([status, codes]) => {
    const shared = Object.entries(SHARED_RESPONSES).find(
      ([, response]) => response.status === status && response.codes.join() === codes.join(),
    );
    const response =
      shared === undefined
        ? errorResponse(status, codes)
        : { $ref: `#/components/responses/${shared[0]}` };
    return [String(status), response] as const;
  });
  return Object.fromEntries(entries);
}
