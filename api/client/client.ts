/** The typed client: one call over fetch per endpoint. Runs in Node and in browsers. */
import { ApiClientError, errorOf } from './error.ts';
import type { Route } from './route-table.ts';
import { ROUTES } from './routes.ts';
import type { ApiClient, CallOptions } from './types.ts';

export type ClientOptions = {
  /** Address of the api, with its base path where there is one. */
  baseUrl: string;
  /** Milliseconds until a call is given up; 15,000 by default. */
  timeoutMs?: number;
  /** Sent with every call. */
  headers?: Readonly<Record<string, string>>;
  /** Instead of the global fetch. */
  fetch?: typeof fetch;
};

const DEFAULT_TIMEOUT_MS = 15_000;

type Input = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * A method per read and build, named as the operations of `/openapi.json`. Each resolves to the body of a 200 and
 * throws ApiClientError for everything else; a call that its own signal ended throws the signal's reason.
 * @example const { markets } = await createApiClient({ baseUrl }).markets({ prices: '0' });
 */
export function createApiClient(options: ClientOptions): ApiClient {
  const methods = Object.entries(ROUTES).map(([id, route]) => [
    id,
    route.takesInput
      ? (input: Input = {}, call: CallOptions = {}) => ask(options, route, input, call)
      : (call: CallOptions = {}) => ask(options, route, {}, call),
  ]);
  // The table is generated from the endpoints that the type is derived from.
  return Object.fromEntries(methods) as ApiClient;
}

async function ask(
  options: ClientOptions,
  route: Route,
  input: Input,
  { signal, timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS }: CallOptions,
): Promise<unknown> {
  const { url, body } = requestOf(options.baseUrl, route, input);
  const deadline = AbortSignal.timeout(timeoutMs);
  const send = options.fetch ?? fetch;
  try {
    const response = await send(url, {
      method: route.method.toUpperCase(),
      headers: {
        Accept: route.isText === true ? 'text/plain' : 'application/json',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body }),
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    return await read(response, route);
  } catch (cause) {
    if (cause instanceof ApiClientError) throw cause;
    signal?.throwIfAborted();
    if (deadline.aborted) {
      throw new ApiClientError(`no answer within ${timeoutMs} ms`, {
        status: 0,
        code: 'TIMEOUT',
        retryable: true,
        cause,
      });
    }
    throw new ApiClientError('the service cannot be reached', {
      status: 0,
      code: 'UNREACHABLE',
      retryable: true,
      cause,
    });
  }
}

/** Path parameters into the path; the rest into the query of a GET or the body of a POST. */
function requestOf(
  baseUrl: string,
  { method, path }: Route,
  input: Input,
): { url: string; body: string | undefined } {
  const inPath = new Set<string>();
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
    const value = input[name];
    if (value === undefined || value === '') throw new TypeError(`${name} is required`);
    inPath.add(name);
    return encodeURIComponent(String(value));
  });
  const rest = Object.entries(input).filter(
    ([name, value]) => !inPath.has(name) && value !== undefined,
  );
  const url = `${baseUrl.replace(/\/+$/, '')}${filled}`;
  if (method === 'post') return { url, body: JSON.stringify(Object.fromEntries(rest)) };
  const query = new URLSearchParams(
    Object.fromEntries(rest.map(([name, value]) => [name, String(value)])),
  ).toString();
  return { url: query === '' ? url : `${url}?${query}`, body: undefined };
}

async function read(response: Response, route: Route): Promise<unknown> {
  const text = await response.text();
  if (!response.ok) throw errorOf(response, text);
  if (route.isText === true) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ApiClientError('the answer is not JSON', {
      status: response.status,
      code: 'UNEXPECTED',
      retryable: false,
      cause,
    });
  }
}
