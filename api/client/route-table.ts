/** What the client must know of the endpoints at run time. */
import type { Endpoint } from '../http/endpoint.ts';
import { NOT_METHODS } from './types.ts';

export type Route = {
  method: 'get' | 'post';
  path: string;
  /** Whether the method takes an input at all. */
  takesInput: boolean;
  /** Answers text rather than JSON. */
  isText?: true;
};

/** The table by id, as `routes.ts` holds it. */
export function routesOf(endpoints: readonly Endpoint[]): Record<string, Route> {
  const methods = endpoints.filter(({ id }) => !NOT_METHODS.some((each) => each === id));
  return Object.fromEntries(
    methods.map(({ id, method, path, params, query, body, contentType }) => [
      id,
      {
        method,
        path,
        takesInput: [params, query, body].some((part) => part !== undefined),
        ...(contentType === undefined ? {} : { isText: true as const }),
      },
    ]),
  );
}
