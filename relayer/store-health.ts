/**
 * Whether the store takes writes, for `/ready`. A fault is noted where work met it and believed until a write went
 * through: asking again costs nothing while all is well.
 */
import type { ReadinessResult } from '../runtime/readiness.ts';
import { isOfChain } from './chain/fault.ts';

export type StoreHealth = {
  /** Takes note of a fault that is none of the chain client's. */
  note: (error: unknown) => void;
  /** Where a fault stands: writes, and forgets the fault when that went through. */
  recheck: () => Promise<void>;
  readiness: () => ReadinessResult;
};

/** @param write a durable write without effect; rejects while the store takes none. */
export function createStoreHealth(write: () => Promise<void>): StoreHealth {
  let fault: string | null = null;
  return {
    note: (error) => {
      if (isOfChain(error)) return;
      fault = error instanceof Error ? error.name : 'unknown fault';
    },
    recheck: async () => {
      if (fault === null) return;
      try {
        await write();
        fault = null;
      } catch (error) {
        // Expected: still broken. It is told by `/ready` until it is not.
        fault = error instanceof Error ? error.name : 'unknown fault';
      }
    },
    readiness: () =>
      fault === null
        ? { ok: true }
        : { ok: false, reason: `the store cannot be written: ${fault}` },
  };
}
