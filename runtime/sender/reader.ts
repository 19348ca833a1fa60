/**
 * The sender's journal, read by a process that sends nothing: it asks no wallet and no chain, writes no row, and may
 * run beside the sender whose journal it is.
 */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import { publicState, storedIntent } from './entry.ts';
import { Journal } from './journal.ts';
import type { SenderTables } from './tables.ts';
import type { IntentState, Sender } from './types.ts';

/** @param wallets those that a sender in its place would send from */
export function createJournalReader(
  db: Kysely<SenderTables>,
  wallets: readonly Address[],
  now: () => number,
): Sender {
  const journal = new Journal(db, now);
  const stateOf = async (key: string): Promise<IntentState | null> => {
    const entry = await journal.load(key);
    return entry === null ? null : publicState(entry);
  };
  return {
    start: async () => undefined,
    freshen: async () => undefined,
    submit: async ({ key }) =>
      (await stateOf(key)) ?? {
        tag: 'refused',
        reason: 'stopping',
        message: 'nothing is sent from here',
        revertData: null,
      },
    wait: stateOf,
    get: async (key) => {
      const entry = await journal.load(key);
      return entry === null ? null : storedIntent(entry);
    },
    recent: async (limit) => (await journal.recent(limit)).map(storedIntent),
    status: () => ({
      wallets: wallets.map((address) => ({
        address,
        balanceWei: null,
        inFlight: 0,
        usable: true,
        reason: null,
      })),
      queued: 0,
      inFlight: 0,
      oldestUnsettledMs: 0,
    }),
    onChange: () => () => undefined,
    stop: async () => undefined,
  };
}
