/** The one way in which rows that a lead covers are written. */
import type { Kysely, Transaction } from 'kysely';
import type { Fence } from './lead.ts';
import { transact } from './writes.ts';

/**
 * Runs `work` in a transaction of its own that the fence lets through: of replicas on one store only the leader's
 * writes reach it. @param options as of `transact`. @throws Overtaken; nothing of `work` stays then
 */
export async function fenced<DB, T>(
  db: Kysely<DB>,
  fence: Fence,
  work: (trx: Transaction<DB>) => Promise<T>,
  options: { single?: boolean } = {},
): Promise<T> {
  const fencedWork = async (trx: Transaction<DB>): Promise<T> => {
    await fence.check(trx);
    return await work(trx);
  };
  return await transact(db, fencedWork, options);
}
