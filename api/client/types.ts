/** The client's types, all derived from the endpoint values: nothing of the server is needed at run time. */
import type { z } from 'zod';
import type { ApiEndpoint } from '../endpoints/index.ts';

/** Not methods: pages, another protocol's door, and an operator's probe. */
export const NOT_METHODS = ['approve', 'docs', 'mcp', 'ready'] as const;

export type MethodId = Exclude<ApiEndpoint['id'], (typeof NOT_METHODS)[number]>;

type EndpointNamed<Id extends MethodId> = Extract<ApiEndpoint, { id: Id }>;

/** What a part of the request takes, as the client writes it: before the server's transforms. */
type Written<S> = [NonNullable<S>] extends [never]
  ? unknown
  : NonNullable<S> extends z.ZodType
    ? z.input<NonNullable<S>>
    : unknown;

type Flat<T> = { [K in keyof T]: T[K] };

type Parts<E extends ApiEndpoint> = Written<E['params']> & Written<E['query']> & Written<E['body']>;

/** Everything that a method takes, path, query or body alike; `pretty` is for readers, not for programs. */
export type InputOf<Id extends MethodId> =
  unknown extends Parts<EndpointNamed<Id>>
    ? undefined
    : Flat<Omit<Parts<EndpointNamed<Id>>, 'pretty'>>;

/** The body of a method's 200. */
export type ResponseOf<Id extends MethodId> = z.output<EndpointNamed<Id>['response']>;

export type CallOptions = {
  /** Ends the call; its reason is what is thrown then. */
  signal?: AbortSignal;
  /** Milliseconds until the call is given up, instead of the client's own. */
  timeoutMs?: number;
};

type Method<Id extends MethodId> =
  InputOf<Id> extends undefined
    ? (options?: CallOptions) => Promise<ResponseOf<Id>>
    : Partial<InputOf<Id>> extends InputOf<Id>
      ? (input?: InputOf<Id>, options?: CallOptions) => Promise<ResponseOf<Id>>
      : (input: InputOf<Id>, options?: CallOptions) => Promise<ResponseOf<Id>>;

/** One method for every read and build, named as its operation in `/openapi.json`. */
export type ApiClient = { readonly [Id in MethodId]: Method<Id> };
