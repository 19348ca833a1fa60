/** The package's `./client`: a typed client for every read and build. */
export { type ClientOptions, createApiClient } from './client.ts';
export { ApiClientError, type ClientCode } from './error.ts';
export type { ApiClient, CallOptions, InputOf, MethodId, ResponseOf } from './types.ts';
