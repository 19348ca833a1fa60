/**
 * The OpenAPI document, made from the endpoint values alone: what validates requests and types responses is what it
 * shows. Built once at boot.
 */
import {
  createDocument,
  type oas31,
  type ZodObjectInput,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import type { Endpoint } from '../http/endpoint.ts';
import { HEADERS, headersOf, PARAMETERS, parameterRef } from './components.ts';
import { ERROR_SCHEMA, errorResponse, errorResponses, SHARED_RESPONSES } from './refusals.ts';

const DESCRIPTION = `Reads, unsigned transactions and unsigned session actions for tokenized index baskets on chain 4663.
Non-custodial: it holds no keys or funds and accepts no private key.

- **Dollars** (amountUsdg, nav, prices, PnL) are plain decimal numbers; **exact amounts** are decimal strings in base units (shares 1e18, USDG 1e6, ETH 1e18): send these back unchanged. Fractions: 0.012 is +1.2%. Basis points: 100 is 1%.
- Fractional numbers carry 8 significant digits.
- Every refusal is \`{error, code, retryable}\`: branch on \`code\`. An unknown path answers 404 NOT_FOUND.
- GET also answers HEAD; every path answers OPTIONS. Browsers may call it from any origin.
- What a request sends as X-Request-Id comes back and stands in the log.
- A response may gain fields; none of those described goes away within version 1.`;

const TAGS: Readonly<Record<Endpoint['tag'], string>> = {
  Discovery: 'What this service is and how it is.',
  Reads: 'Baskets, marks and what an address holds.',
  Builds: 'Unsigned transactions for a wallet to sign and send.',
  Jobs: 'What anyone may execute for a fee.',
  Agent: "A delegated key's permission and its unsigned actions.",
  Cover: 'Weekend Cover.',
};

export type OpenApiDocument = oas31.OpenAPIObject;

/** @param baseUrl address of the api as clients see it, base path included. */
export function openApiDocument(endpoints: readonly Endpoint[], baseUrl: string): OpenApiDocument {
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Basket Index Trading Service',
        version: '1.0.0',
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: baseUrl }],
      security: [],
      tags: Object.entries(TAGS)
        .filter(([name]) => endpoints.some(({ tag }) => tag === name))
        .map(([name, description]) => ({ name, description })),
      paths: pathsOf(endpoints),
      components: {
        schemas: { Error: ERROR_SCHEMA },
        headers: HEADERS,
        parameters: PARAMETERS,
        responses: Object.fromEntries(
          Object.entries(SHARED_RESPONSES).map(([name, { status, codes }]) => [
            name,
            errorResponse(status, codes),
          ]),
        ),
      },
    },
    { override: asPublished },
  );
}

/**
 * Responses may gain fields (wire.md): only requests that refuse unknown keys say so. What JSON Schema or JSON itself
 * implies (keys are strings, integers are safe ones, read-only arrays) is left out.
 */
const asPublished: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (io === 'output' && jsonSchema.additionalProperties === false) {
    delete jsonSchema.additionalProperties;
  }
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  // A bound that a description of its own tightens replaces the looser one.
  if (jsonSchema.minimum !== undefined) delete jsonSchema.exclusiveMinimum;
  delete jsonSchema.propertyNames;
  delete jsonSchema.readOnly;
};

function pathsOf(endpoints: readonly Endpoint[]): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {};
  const add = (path: string, method: Endpoint['method'], operation: ZodOpenApiOperationObject) => {
    paths[path] = { ...paths[path], [method]: operation };
  };
  for (const endpoint of endpoints) {
    add(endpoint.path, endpoint.method, operationOf(endpoint));
    for (const [id, path] of Object.entries(endpoint.aliases ?? {})) {
      add(path, endpoint.method, {
        ...operationOf(endpoint),
        operationId: id,
        summary: `The same as ${endpoint.path}.`,
      });
    }
  }
  return paths;
}

function operationOf(endpoint: Endpoint): ZodOpenApiOperationObject {
  const { id, tag, summary, description, params, query, body } = endpoint;
  const requestParams = {
    ...(params === undefined ? {} : { path: params as ZodObjectInput }),
    ...(query === undefined ? {} : { query: query as ZodObjectInput }),
  };
  const parameters = sharedParameters(endpoint);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(Object.keys(requestParams).length === 0 ? {} : { requestParams }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: responsesOf(endpoint),
  };
}

/** Whether the body is sent with a validator. */
function hasEtag({ cache }: Endpoint): boolean {
  return cache !== null && cache !== 'no-store';
}

function sharedParameters(endpoint: Endpoint): oas31.ReferenceObject[] {
  const { method, query, contentType, external } = endpoint;
  const saysPretty = query !== undefined && 'shape' in query && 'pretty' in (query.shape as object);
  const takesPretty =
    method === 'get' && contentType === undefined && external !== true && !saysPretty;
  return [
    ...(takesPretty ? [parameterRef('Pretty')] : []),
    ...(hasEtag(endpoint) ? [parameterRef('IfNoneMatch')] : []),
  ];
}

function responsesOf(endpoint: Endpoint): ZodOpenApiOperationObject['responses'] {
  const { cache, contentType = 'application/json', response, otherResponses = {} } = endpoint;
  const cacheHeaders = [
    ...(cache === null ? [] : (['CacheControl'] as const)),
    ...(hasEtag(endpoint) ? (['ETag'] as const) : []),
  ];
  const headers = headersOf('RequestId', ...cacheHeaders);
  return {
    200: {
      description: cache === null ? 'Done.' : `Done. Cache-Control: ${cache}.`,
      headers,
      content: { [contentType]: { schema: response } },
    },
    ...(hasEtag(endpoint) ? { 304: { description: 'The client has this body.', headers } } : {}),
    ...errorResponses(endpoint),
    ...Object.fromEntries(
      Object.entries(otherResponses).map(([status, { description, schema }]) => [
        status,
        {
          description,
          headers,
          ...(schema === null ? {} : { content: { [contentType]: { schema } } }),
        },
      ]),
    ),
  };
}
