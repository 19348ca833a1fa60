import { StoreError } from './errors.ts';

/** Every surrogate has its other half. */
export const isWhole = (text: string): boolean =>
  (text as unknown as { isWellFormed(): boolean }).isWellFormed();

/**
 * What a statement may bind.
 * @throws StoreError for undefined, which libsql would bind as NULL, and for half a character, at which it would end
 *   the process
 */
export function bound(parameters: readonly unknown[]): unknown[] {
  if (parameters.some((value) => value === undefined)) {
    throw new StoreError('a query binds undefined; use null');
  }
  if (parameters.some((value) => typeof value === 'string' && !isWhole(value))) {
    throw new StoreError('a query binds text that is not Unicode');
  }
  return [...parameters];
}
