/**
 * Valid requests for any endpoint value, made from its schemas: a field's name says what belongs there, its JSON schema
 * says the rest.
 */
import fc from 'fast-check';
import { z } from 'zod';
import type { Endpoint } from '../../api/http/endpoint.ts';
import type { WireRequest } from './wire-request.ts';

/** What exists on the chain under test, for requests that are to succeed. */
export type World = {
  tickers: readonly string[];
  vaults: readonly string[];
  /** Addresses that hold something, first of all the one that holds shares. */
  addresses: readonly string[];
  orderIds: readonly string[];
  owner: string;
  key: string;
};

/** A request with its parts apart, so that one of them can be spoiled. */
export type Parts = {
  method: string;
  path: string;
  params: Record<string, string>;
  query: Record<string, string>;
  body: Record<string, unknown> | null;
};

/** Values by the name of the field that they belong to. */
function byName(world: World): Record<string, fc.Arbitrary<unknown>> {
  const known = fc.constantFrom(...world.addresses);
  const stranger = fc
    .uint8Array({ minLength: 20, maxLength: 20 })
    .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);
  const address = fc.oneof({ weight: 9, arbitrary: known }, { weight: 1, arbitrary: stranger });
  return {
    ticker: fc.constantFrom(...world.tickers),
    address,
    account: address,
    executor: address,
    owner: fc.constant(world.owner),
    key: fc.constant(world.key),
    vault: fc.constantFrom(...world.vaults),
    shares: fc.integer({ min: 20, max: 500 }).map((thousandths) => `${thousandths}000000000000000`),
    orderId: fc.constantFrom(...world.orderIds),
    amountUsdg: fc.integer({ min: 500, max: 20_000 }).map((cents) => cents / 100),
    stopNav: fc.constantFrom(0.01, 0.5, 1.25),
    tpNav: fc.constantFrom(90_000, 100_000.5),
    everyHours: fc.constantFrom(1, 24),
    buys: fc.integer({ min: 1, max: 30 }),
    // A dry run costs the chain as much as everything else together.
    simulate: fc.oneof(
      { weight: 19, arbitrary: fc.constant(false) },
      { weight: 1, arbitrary: fc.constant(true) },
    ),
    feeUsdg: fc.constant('0'),
    week: fc.constant(undefined),
    coverUsd: fc.integer({ min: 50, max: 5_000 }),
    fromBps: fc.constantFrom(200, 300),
    toBps: fc.constantFrom(700, 1_000),
    fraction: fc.constant(undefined),
    escrow: fc.constant(undefined),
    days: fc.integer({ min: 1, max: 6 }).map(String),
  };
}

/** Whole bodies where fields depend on each other. */
function byEndpoint(world: World): Record<string, fc.Arbitrary<Record<string, unknown>>> {
  const parties = { owner: world.owner, key: world.key, ticker: 'CORE' };
  const call = (method: string, params?: object) => ({
    jsonrpc: '2.0',
    id: 1,
    method,
    ...(params && { params }),
  });
  return {
    agentTrade: fc.oneof(
      fc
        .integer({ min: 6, max: 40 })
        .map((amountUsdg) => ({ ...parties, side: 'buy', amountUsdg, slippageBps: 300 })),
      fc.constant({ ...parties, side: 'sell', shares: '1000000000000000000' }),
    ),
    agentCover: fc.record({
      ...constants({ ...parties, action: 'request', fromBps: 300, toBps: 1_000 }),
      coverUsd: fc.integer({ min: 50, max: 500 }),
      pricePer1k: fc.integer({ min: 1, max: 3_000 }).map((cents) => cents / 100),
    }),
    mcp: fc.constantFrom(
      call('tools/list'),
      call('ping'),
      call('tools/call', { name: 'basket_markets', arguments: { prices: '0' } }),
      call('tools/call', { name: 'basket_guide', arguments: {} }),
      call('tools/call', { name: 'basket_cover', arguments: { view: 'weeks' } }),
    ),
  };
}

function constants(values: Record<string, unknown>): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, fc.constant(value)]),
  );
}

type JsonSchema = {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  pattern?: string;
};

function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
}

function valueOf(
  name: string,
  schema: JsonSchema,
  names: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<unknown> {
  const named = names[name];
  if (named !== undefined) return named;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) {
    return fc.oneof(...schema.anyOf.map((option) => valueOf('', option, names)));
  }
  const { minimum = 1, maximum = 90 } = schema;
  if (schema.type === 'integer') {
    return fc.integer({ min: minimum, max: Math.min(maximum, 1_000_000) });
  }
  if (schema.type === 'number') {
    return fc.double({ min: minimum, max: Math.min(maximum, 1_000), noNaN: true });
  }
  // What has no name and no simple type is left out.
  return schema.type === 'boolean' ? fc.boolean() : fc.constant(undefined);
}

function fieldsOf(
  schema: z.ZodType | undefined,
  names: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<Record<string, unknown>> {
  if (schema === undefined) return fc.constant({});
  const { properties = {}, required = [] } = jsonSchemaOf(schema);
  return fc
    .tuple(
      ...Object.entries(properties).map(([name, property]) => {
        const value = valueOf(name, property, names);
        // Left out, an exit has no price and a dry run is made: not as often as other fields.
        const presence = name === 'simulate' || name === 'stopNav' ? 20 : 1;
        return fc.tuple(
          fc.constant(name),
          required.includes(name)
            ? value
            : fc.oneof(
                { weight: presence, arbitrary: value },
                { weight: 1, arbitrary: fc.constant(undefined) },
              ),
        );
      }),
    )
    .map((fields) => Object.fromEntries(fields.filter(([, value]) => value !== undefined)));
}

/** Every path of the endpoint, aliases too. */
export function pathsOf(endpoint: Endpoint): string[] {
  return [endpoint.path, ...Object.values(endpoint.aliases ?? {})];
}

export function validParts(endpoint: Endpoint, world: World): fc.Arbitrary<Parts> {
  const names = byName(world);
  const body =
    endpoint.body === undefined
      ? fc.constant(null)
      : (byEndpoint(world)[endpoint.id] ?? fieldsOf(endpoint.body, names));
  return fc.record({
    method: fc.constant(endpoint.method.toUpperCase()),
    path: fc.constantFrom(...pathsOf(endpoint)),
    params: fieldsOf(endpoint.params, names) as fc.Arbitrary<Record<string, string>>,
    query: fieldsOf(endpoint.query, names) as fc.Arbitrary<Record<string, string>>,
    body,
  });
}

export const JSON_HEADERS = { 'content-type': 'application/json' };

/** @param encode how a parameter stands in the path. */
export function assemble(
  parts: Parts,
  encode: (text: string) => string = encodeURIComponent,
): WireRequest {
  const path = parts.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encode(parts.params[name] ?? ''),
  );
  const query = new URLSearchParams(parts.query).toString();
  return {
    method: parts.method,
    path: query === '' ? path : `${path}?${query}`,
    ...(parts.body === null ? {} : { headers: JSON_HEADERS, body: JSON.stringify(parts.body) }),
  };
}

/** Requests that the endpoint should answer with a 200; HEAD and conditional ones too. */
export function validRequest(endpoint: Endpoint, world: World): fc.Arbitrary<WireRequest> {
  const conditional =
    endpoint.method === 'get'
      ? fc.oneof(
          { weight: 3, arbitrary: fc.constant({}) },
          { weight: 1, arbitrary: fc.constant({ 'if-none-match': '*' }) },
        )
      : fc.constant({});
  const method =
    endpoint.method === 'get' ? fc.constantFrom('GET', 'GET', 'GET', 'HEAD') : fc.constant('POST');
  return fc
    .tuple(validParts(endpoint, world), conditional, method)
    .map(([parts, headers, method]) => {
      const request = assemble({ ...parts, method });
      return { ...request, headers: { ...request.headers, ...headers } };
    });
}
