/** Hostile requests for any endpoint value: a valid one with one thing spoiled. */
import fc from 'fast-check';
import type { Endpoint } from '../../api/http/endpoint.ts';
import { assemble, JSON_HEADERS, type Parts, validParts, type World } from './fuzz-requests.ts';
import type { WireRequest } from './wire-request.ts';

const HOSTILE_TEXT = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(
    '',
    ' ',
    '0',
    '-1',
    '1e999',
    'NaN',
    'null',
    'undefined',
    'true',
    '[object Object]',
    '__proto__',
    'constructor',
    'toString',
    '../../etc/passwd',
    '..%2f..%2f',
    '%00',
    '%',
    '%ff',
    '\u0000',
    '\ud800',
    "' OR 1=1 --",
    '<script>',
    '${7*7}',
    '0x',
    `0x${'0'.repeat(40)}`,
    `0x${'f'.repeat(40)}`,
    `0x${'f'.repeat(64)}`,
    'f'.repeat(64),
    '9'.repeat(78),
    '9'.repeat(200),
    'a'.repeat(2_000),
    'max',
    'MAX',
    '٣',
    'ＭＡＧ７',
  ),
);

const HOSTILE_VALUE: fc.Arbitrary<unknown> = fc.oneof(
  HOSTILE_TEXT,
  fc.jsonValue({ maxDepth: 3 }),
  fc.double(),
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -0,
    -1,
    0.1,
    1e-7,
    1e21,
    1.7976931348623157e308,
    Number.MAX_SAFE_INTEGER,
    2 ** 53,
    5e-324,
    [],
    {},
    [[]],
    { toString: 1 },
    { $gt: '' },
    '1',
    ['max'],
  ),
);

/** What Node lets a client send as a request target; the rest percent-encoded. */
function sendable(target: string): string {
  return target.replaceAll(/[^\u0021-\u007e]/gu, (character) => {
    try {
      return encodeURIComponent(character);
    } catch {
      return '%ED%A0%80';
    }
  });
}

function headerValue(text: string): string {
  return text.replaceAll(/[^\u0020-\u007e]/g, '?').trim();
}

const HOSTILE_HEADERS: fc.Arbitrary<Record<string, string>> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        'x-request-id',
        'if-none-match',
        'accept',
        'accept-encoding',
        'accept-language',
        'origin',
        'referer',
        'cookie',
        'authorization',
        'x-forwarded-for',
        'forwarded',
        'range',
        'user-agent',
        'mcp-protocol-version',
        'last-event-id',
        'access-control-request-method',
        'if-modified-since',
        'if-match',
        'x-http-method-override',
      ),
      HOSTILE_TEXT,
    )
    .map(([name, value]) => ({ [name]: headerValue(value) })),
  fc.constantFrom<Record<string, string>>(
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/xml' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': 'application/json; charset=nothing' },
    { 'content-type': '' },
    { 'content-encoding': 'gzip' },
    { 'content-encoding': 'br' },
    { 'content-encoding': 'nothing' },
    { expect: 'nothing' },
  ),
);

/** Larger than the limit that the fuzz runs with. */
export const BODY_LIMIT = 4_096;

const HOSTILE_BODY: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 3, arbitrary: fc.string({ maxLength: 200 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '',
      'null',
      '0',
      '"text"',
      '[]',
      '[{}]',
      '{',
      '{"a":',
      '{}}',
      '{"__proto__":{"ticker":"CORE"}}',
      '\ufeff{}',
      '{"a":1,}',
      `${'['.repeat(1_500)}${']'.repeat(1_500)}`,
      `${'{"a":'.repeat(600)}1${'}'.repeat(600)}`,
      '{"ticker":"CORE","ticker":"MAG7"}',
      '{"amountUsdg":1e400}',
      '{"ticker":"\\ud800"}',
    ),
  },
  { weight: 1, arbitrary: fc.constant(JSON.stringify({ a: 'x'.repeat(BODY_LIMIT) })) },
);

type Spoil = fc.Arbitrary<(parts: Parts) => WireRequest>;

function pick<T>(items: readonly T[], at: number): T | undefined {
  return items[at % Math.max(1, items.length)];
}

/** Each puts one hostile thing in its place. */
const SPOILS: readonly { weight: number; arbitrary: Spoil }[] = [
  {
    weight: 8,
    arbitrary: fc.tuple(fc.nat(30), HOSTILE_VALUE, fc.nat(4)).map(([at, value, how]) => (parts) => {
      const body: Record<string, unknown> = { ...parts.body };
      const name = pick(Object.keys(body), at) ?? 'ticker';
      if (how === 0) delete body[name];
      else body[name] = value;
      return assemble({ ...parts, body: parts.body === null ? null : body });
    }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(HOSTILE_TEXT, HOSTILE_VALUE).map(
      ([name, value]) =>
        (parts) =>
          assemble({
            ...parts,
            body: parts.body === null ? null : { ...parts.body, [name]: value },
          }),
    ),
  },
  {
    weight: 4,
    arbitrary: HOSTILE_BODY.map((body) => (parts) => ({
      ...assemble(parts),
      headers: { ...JSON_HEADERS },
      body,
    })),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat(10), HOSTILE_TEXT).map(([at, text]) => (parts) => {
      const name = pick(Object.keys(parts.params), at);
      const params = name === undefined ? parts.params : { ...parts.params, [name]: text };
      return assemble({ ...parts, params }, sendable);
    }),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.nat(10), HOSTILE_TEXT, fc.boolean())
      .map(([at, text, twice]) => (parts) => {
        const request = assemble(parts);
        const name =
          pick([...Object.keys(parts.query), 'fields', 'prices', 'pretty', 'res', text], at) ?? 'x';
        const added = `${sendable(name)}=${sendable(text)}`;
        return {
          ...request,
          path: `${request.path}${request.path.includes('?') ? '&' : '?'}${twice ? `${added}&${added}` : added}`,
        };
      }),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE', 'PROPFIND')
      .map((method) => (parts) => ({ ...assemble(parts), method })),
  },
  {
    weight: 4,
    arbitrary: HOSTILE_HEADERS.map((headers) => (parts) => {
      const request = assemble(parts);
      return { ...request, headers: { ...request.headers, ...headers } };
    }),
  },
  {
    weight: 2,
    arbitrary: HOSTILE_TEXT.map((text) => (parts) => {
      const request = assemble(parts);
      return { ...request, path: sendable(`/${text}${request.path}`) };
    }),
  },
];

export function hostileRequest(endpoint: Endpoint, world: World): fc.Arbitrary<WireRequest> {
  return fc
    .tuple(validParts(endpoint, world), fc.oneof(...SPOILS))
    .map(([parts, spoil]) => spoil(parts));
}
