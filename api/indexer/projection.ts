/** What the indexer feeds: tables derived from logs alone, so that they can be undone and replayed. */
import type { Transaction } from 'kysely';
import type { Address, Hex } from 'viem';
import type { IndexedLog } from '../../runtime/chain/read-logs.ts';

export type { IndexedLog } from '../../runtime/chain/read-logs.ts';

/** What a projection writes of some logs. */
export type Rows<DB> = {
  write: (trx: Transaction<DB>) => Promise<void>;
  /**
   * These rows and those that the same projection prepared of the logs after them, to be written as one. Absent: one
   * after the other is as good.
   */
  joined?: (next: Rows<DB>) => Rows<DB>;
};

export type Projection<DB> = {
  name: string;
  /** Whose logs it wants, and which first topics. */
  addresses: readonly Address[];
  topics: readonly Hex[];
  /** First topics that it wants of every basket vault; the registry decides which these are (vault-set.ts). */
  vaultTopics?: readonly Hex[];
  /**
   * Takes logs apart, in chain order and whole blocks at a time, while the store may be busy with those before them.
   * The same log may come again: it must change nothing then. One that a lagging node hid may come after later ones.
   */
  prepare: (logs: readonly IndexedLog[]) => Rows<DB>;
  /** Undoes everything from blocks above `block`. */
  rollback: (trx: Transaction<DB>, block: number) => Promise<void>;
  /** Drops the rows of vaults (lower case) whose registration was undone. Needed with `vaultTopics`. */
  forget?: (trx: Transaction<DB>, vaults: readonly Address[]) => Promise<void>;
};
