/**
 * Which vaults' logs are ours: those of the deployment file, and those that the registry appended since. Never an
 * address from anywhere else: anyone can emit a Transfer.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Address, Hex } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { basketRegistryAbi } from '../../contracts-abi/generated/index.ts';
import type { Migrations } from '../../runtime/store/store.ts';
import { insertRows } from './insert-rows.ts';
import { addressTopic, selectorOf } from './log-words.ts';
import type { IndexedLog } from './projection.ts';

export type VaultTables = {
  /** Vaults by the registry's events. Addresses in lower case. */
  index_vault: { vault: string; block: number; log_index: number };
};

export const vaultMigrations: Migrations = {
  'api-004-vaults': {
    up: async (db) => {
      await db.schema
        .createTable('index_vault')
        .addColumn('vault', 'text', (column) => column.primaryKey())
        .addColumn('block', 'bigint', (column) => column.notNull())
        .addColumn('log_index', 'bigint', (column) => column.notNull())
        .execute();
    },
  },
};

type Db = Kysely<VaultTables> | Transaction<VaultTables>;

const APPENDED = selectorOf(basketRegistryAbi, 'BasketAppended');

export class VaultSet {
  readonly registry: Address;
  readonly topics: readonly Hex[] = [APPENDED];
  readonly #given: ReadonlySet<Address>;
  #known: ReadonlySet<Address>;

  constructor(deployment: Pick<Deployment, 'registry' | 'baskets'>) {
    this.registry = lower(deployment.registry);
    this.#given = new Set(deployment.baskets.map(({ vault }) => lower(vault)));
    this.#known = this.#given;
  }

  /** In lower case, as the rows say. */
  get known(): ReadonlySet<Address> {
    return this.#known;
  }

  /** Takes up what the rows say. */
  async load(db: Db): Promise<void> {
    const rows = await db.selectFrom('index_vault').select('vault').execute();
    this.#known = new Set([...this.#given, ...rows.map(({ vault }) => vault as Address)]);
  }

  /** Vaults that these logs append and that are not among those whose own logs are read so far. */
  newIn(logs: readonly IndexedLog[], known: ReadonlySet<Address>): Address[] {
    return [...new Set(appendedIn(logs, this.registry).map(({ vault }) => vault))].filter(
      (vault) => !known.has(vault),
    );
  }

  /** Call `load` afterwards. */
  async apply(db: Db, logs: readonly IndexedLog[]): Promise<void> {
    const rows = appendedIn(logs, this.registry).map(({ vault, log }) => ({
      vault,
      block: log.block,
      log_index: log.logIndex,
    }));
    await insertRows(db as Kysely<VaultTables>, 'index_vault', rows);
  }

  /** Undoes registrations above `block`; returns the vaults whose logs are no longer ours. */
  async rollback(db: Db, block: number): Promise<Address[]> {
    const gone = await db
      .deleteFrom('index_vault')
      .where('block', '>', block)
      .returning('vault')
      .execute();
    return gone.map(({ vault }) => vault as Address).filter((vault) => !this.#given.has(vault));
  }
}

/** The vaults that the registry (in lower case) names in these logs. */
export function appendedIn(
  logs: readonly IndexedLog[],
  registry: Address,
): { vault: Address; log: IndexedLog }[] {
  return logs
    .filter((log) => log.address === registry && log.topics[0] === APPENDED)
    .map((log) => ({ vault: addressTopic(log, 1), log }));
}

function lower(address: Address): Address {
  return address.toLowerCase() as Address;
}
