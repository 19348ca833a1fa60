import { StoreError } from './errors.ts';

/** What a statement may bind. @throws StoreError for undefined, which libsql would bind as NULL */
export function bound(parameters: readonly unknown[]): unknown[] {
  if (parameters.some((value) => value === undefined)) {
    throw new StoreError('a query binds undefined; use null');
  }
  return [...parameters];
}
