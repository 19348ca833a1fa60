/** Whose fault it is that something could not be done. */
import { BaseError } from 'viem';
import { ApiError } from '../../runtime/errors.ts';

/** Whether the chain did not answer, or not with what was asked for; everything else is the store's or ours. */
export function isOfChain(error: unknown): boolean {
  return error instanceof BaseError || (error instanceof ApiError && error.code === 'UPSTREAM');
}
