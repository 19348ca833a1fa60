/** What the indexer feeds: tables derived from logs alone, so that they can be undone and replayed. */
import type { Kysely, Transaction } from 'kysely';
import type { Address, Hex } from 'viem';

export type IndexedLog = {
  address: Address;
  topics: readonly Hex[];
  data: Hex;
  block: number;
  blockHash: Hex;
  logIndex: number;
  transactionHash: Hex;
  /** Unix seconds of its block. */
  time: number;
};

export type Projection<DB> = {
  name: string;
  /** Whose logs it wants, and which first topics. */
  addresses: readonly Address[];
  topics: readonly Hex[];
  /** Writes rows for logs in chain order. The same log may come again: it must change nothing then. */
  apply: (trx: Transaction<DB>, logs: readonly IndexedLog[]) => Promise<void>;
  /** Undoes everything from blocks above `block`. */
  rollback: (trx: Transaction<DB>, block: number) => Promise<void>;
  /** Called after a step that changed rows was committed. */
  changed?: (db: Kysely<DB>) => Promise<void>;
};
