/** Headers and parameters that every operation shares, by reference. */
import type { oas31 } from 'zod-openapi';

export const HEADERS = {
  RequestId: {
    description:
      'Names this request in the service log; the one that the client sent (letters, digits, _ and -, at most 64) or a new one.',
    schema: { type: 'string', minLength: 1, maxLength: 64 },
  },
  ETag: {
    description:
      'Validator of the body, weak where the body is compressed; send it back as If-None-Match.',
    schema: { type: 'string', pattern: '^(W/)?"[^"]+"$' },
  },
  CacheControl: { description: 'How long a cache may keep it.', schema: { type: 'string' } },
  RetryAfter: {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  Allow: {
    description: 'Methods that the path answers, separated by commas.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description: 'limit, remaining requests, and seconds until the window ends.',
    schema: { type: 'string' },
  },
  RateLimitPolicy: {
    description: 'Requests per window, and its seconds as w.',
    schema: { type: 'string' },
  },
} as const satisfies Record<string, oas31.HeaderObject>;

const HEADER_NAMES = {
  RequestId: 'X-Request-Id',
  ETag: 'ETag',
  CacheControl: 'Cache-Control',
  RetryAfter: 'Retry-After',
  Allow: 'Allow',
  RateLimit: 'RateLimit',
  RateLimitPolicy: 'RateLimit-Policy',
} as const satisfies Record<keyof typeof HEADERS, string>;

/** A response's `headers`, by reference. */
export function headersOf(
  ...keys: readonly (keyof typeof HEADERS)[]
): Record<string, oas31.ReferenceObject> {
  return Object.fromEntries(
    keys.map((key) => [HEADER_NAMES[key], { $ref: `#/components/headers/${key}` }]),
  );
}

export const PARAMETERS = {
  Pretty: {
    name: 'pretty',
    in: 'query',
    required: false,
    description: '1 asks for indented JSON.',
    schema: { type: 'string', enum: ['1'] },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'ETags that the client has: 304 instead of the body where one is current.',
    schema: { type: 'string' },
  },
} as const satisfies Record<string, oas31.ParameterObject>;

export function parameterRef(name: keyof typeof PARAMETERS): oas31.ReferenceObject {
  return { $ref: `#/components/parameters/${name}` };
}
