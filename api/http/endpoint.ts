/**
 * An endpoint as a value: what it takes, answers and refuses, each said once. Validation, the OpenAPI document, the
 * typed client and the MCP tools are all read from it, so none of them can tell another story than the route itself.
 */
import type { Request, Response } from 'express';
import type { z } from 'zod';
import { ApiError, type ErrorCode, type StatusOverride } from '../../runtime/errors.ts';
import { bodyTextOf } from '../../runtime/http/server.ts';
import type { RouteContext } from './context.ts';
import { exactNumbers } from './exact-numbers.ts';
import {
  isPretty,
  type Serialised,
  sendFresh,
  sendSerialised,
  serialise,
  wantsPretty,
} from './json-body.ts';

/** A code with the status it has here, where that is not the table's own. */
export type Refusal = ErrorCode | { code: ErrorCode; status: StatusOverride };

type ObjectSchema = z.ZodType<object>;

/** What a request says, validated. Parts that an endpoint does not take are undefined. */
type Input<P, Q, B> = {
  params: P extends z.ZodType ? z.output<P> : undefined;
  query: Q extends z.ZodType ? z.output<Q> : undefined;
  body: B extends z.ZodType ? z.output<B> : undefined;
};

type Parts<
  P,
  Q,
  B,
  R extends z.ZodType,
  Id extends string = string,
  M extends 'get' | 'post' = 'get' | 'post',
> = {
  method: M;
  /** As OpenAPI writes it: `/v1/baskets/{ticker}`. */
  path: `/${string}`;
  /** Other paths that answer the same, by the id of their operation. */
  aliases?: Readonly<Record<string, `/${string}`>>;
  /** OpenAPI's operationId, its name in the root document, and the name of the typed client's method. */
  id: Id;
  tag: 'Discovery' | 'Reads' | 'Builds' | 'Jobs' | 'Agent' | 'Cover';
  /** One line. */
  summary: string;
  description?: string;
  params?: P;
  query?: Q;
  body?: B;
  /** The body of a 200. Handlers are held to it by type, running stacks by tests. */
  response: R;
  /**
   * Beyond what every mounted endpoint may answer (BAD_REQUEST where it takes input, the body's 413 and 415, other
   * methods' 405, the rate limit's 429, SERVER); of an external one: all but the 405.
   */
  refusals: readonly Refusal[];
  /**
   * Cache-Control of a 200. `no-store` for what belongs to one request; anything else is sent with an ETag. Null, for
   * external ones alone: none is sent.
   */
  cache: string | null;
  /**
   * `own`: it bounds itself. `build`: a GET that is given as long as a build (BUILD_BUDGET_MS), since it quotes as one
   * does. Any other GET is answered within READ_BUDGET_MS, a POST within BUILD_BUDGET_MS; late ones with UPSTREAM.
   */
  deadline?: 'own' | 'build';
  /** Media type of the 200 where it is not JSON. */
  contentType?: string;
  /** Answers that are neither the 200 nor an error of the one shape, by status; a null schema: no body. */
  otherResponses?: Readonly<Record<number, { description: string; schema: z.ZodType | null }>>;
};

/** Who asked. */
export type Asker = {
  /** Aborted once nobody hears the answer any more: for what waits. Each call makes one. */
  gone(): AbortSignal;
  /** Whether he is; of a request that waits on its connection for the answers before it nothing else tells. */
  isGone(): boolean;
};

type Answering<P, Q, B, R extends z.ZodType> =
  | {
      /** Makes the body for this request. */
      answer: (
        context: RouteContext,
        input: Input<P, Q, B>,
        asker: Asker,
      ) => z.input<R> | Promise<z.input<R>>;
      shared?: undefined;
    }
  | {
      /** Gives a body that was serialised for all who ask the same. */
      shared: (context: RouteContext, input: Input<P, Q, B>, pretty: boolean) => Serialised;
      answer?: undefined;
    }
  | {
      /** Registered by somebody else (the HTTP server, the MCP endpoint); here for the document and the client alone. */
      external: true;
      answer?: undefined;
      shared?: undefined;
    };

export type EndpointOf<
  P extends ObjectSchema | undefined,
  Q extends ObjectSchema | undefined,
  B extends ObjectSchema | undefined,
  R extends z.ZodType,
  Id extends string = string,
  M extends 'get' | 'post' = 'get' | 'post',
> = Parts<P, Q, B, R, Id, M> & Answering<P, Q, B, R>;

/** Input of an endpoint whose types are not known here; made by `parseInput` alone. */
type AnyInput = { params: never; query: never; body: never };

/** An endpoint whose own types no longer matter: what lists and mounts work with. */
export type Endpoint = Parts<
  ObjectSchema | undefined,
  ObjectSchema | undefined,
  ObjectSchema | undefined,
  z.ZodType
> & {
  answer?: ((context: RouteContext, input: AnyInput, asker: Asker) => unknown) | undefined;
  shared?: ((context: RouteContext, input: AnyInput, pretty: boolean) => Serialised) | undefined;
  external?: boolean | undefined;
};

/** Keeps an endpoint's own types. */
export function defineEndpoint<
  const Id extends string,
  const M extends 'get' | 'post',
  R extends z.ZodType,
  P extends ObjectSchema | undefined = undefined,
  Q extends ObjectSchema | undefined = undefined,
  B extends ObjectSchema | undefined = undefined,
>(endpoint: EndpointOf<P, Q, B, R, Id, M>): EndpointOf<P, Q, B, R, Id, M> {
  return endpoint;
}

export type RawInput = { params?: unknown; query?: unknown; body?: unknown };

/** @throws ZodError (answered as BAD_REQUEST) or ApiError for a body that is no JSON object. */
function parseInput(endpoint: Endpoint, raw: RawInput): AnyInput {
  const parse = (schema: z.ZodType | undefined, value: unknown) => schema?.parse(value);
  if (endpoint.body !== undefined) requireObject(raw.body);
  return {
    params: parse(endpoint.params, raw.params ?? {}),
    query: parse(endpoint.query, raw.query ?? {}),
    body: parse(endpoint.body, raw.body),
  } as AnyInput;
}

function requireObject(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ApiError('BAD_REQUEST', 'expected a JSON object as the body');
  }
}

/** The body that an endpoint answers to this input, for callers within the process. @throws what the route refuses. */
export async function invoke(
  endpoint: Endpoint,
  context: RouteContext,
  raw: RawInput,
): Promise<unknown> {
  const input = parseInput(endpoint, raw);
  if (endpoint.shared !== undefined) {
    return JSON.parse(endpoint.shared(context, input, false).text) as unknown;
  }
  return await answerInTime(endpoint, context, input, {
    gone: () => new AbortController().signal,
    isGone: () => false,
  });
}

/** Longest wait for an answer in milliseconds; null: the endpoint bounds itself. */
function budgetOf({ method, deadline }: Endpoint, context: RouteContext): number | null {
  if (deadline === 'own') return null;
  return method === 'get' && deadline === undefined ? context.readBudgetMs : context.buildBudgetMs;
}

/**
 * What an answer waits for may hang for as long as the RPC's own timeout and its retries: nobody who asks waits so
 * long, our own client included. What is being read is left to its end, which nobody hears of.
 * @throws ApiError UPSTREAM once the budget is spent; what the endpoint throws.
 */
async function answerInTime(
  endpoint: Endpoint,
  context: RouteContext,
  input: AnyInput,
  asker: Asker,
): Promise<unknown> {
  const answer = endpoint.answer?.(context, input, asker);
  const budgetMs = budgetOf(endpoint, context);
  if (budgetMs === null) return await answer;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const refuse = () =>
      reject(new ApiError('UPSTREAM', 'the chain or the store does not answer in time: retry'));
    timer = setTimeout(refuse, budgetMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function askerOf(request: Request, response: Response): Asker {
  return {
    isGone: () => response.closed || request.socket.destroyed,
    gone: () => {
      const ending = new AbortController();
      if (response.closed) ending.abort();
      else response.once('close', () => ending.abort());
      return ending.signal;
    },
  };
}

/** Express writes parameters with a colon. */
function expressPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** Registers the endpoint and its aliases. */
export function mount(endpoint: Endpoint, context: RouteContext): void {
  if (endpoint.external === true) return;
  const cache = endpoint.cache ?? 'no-store';
  for (const path of [endpoint.path, ...Object.values(endpoint.aliases ?? {})]) {
    context.http.route(endpoint.method, expressPath(path), async (request, response) => {
      const input = parseInput(endpoint, rawOf(request));
      const pretty = wantsPretty(request);
      if (endpoint.shared !== undefined) {
        const body = endpoint.shared(context, input, pretty);
        sendSerialised(request, response, body, cache, endpoint.contentType);
        return;
      }
      const body = await answerInTime(endpoint, context, input, askerOf(request, response));
      if (cache === 'no-store') sendFresh(request, response, body);
      else sendSerialised(request, response, serialise(body, pretty), cache);
    });
    shareAt(path, endpoint, context);
  }
}

/** Lets a shared JSON body at a fixed path be answered before Express; both ways read the same endpoint. */
function shareAt(path: string, endpoint: Endpoint, context: RouteContext): void {
  const { shared, contentType, params } = endpoint;
  if (shared === undefined || contentType !== undefined || params !== undefined) return;
  context.http.share({
    path,
    cacheControl: endpoint.cache ?? 'no-store',
    bodyFor: (query) => shared(context, parseInput(endpoint, { query }), isPretty(query)),
  });
}

function rawOf(request: Request): RawInput {
  const body = exactNumbers(request.body, bodyTextOf(request));
  return { params: request.params, query: request.query, body };
}
