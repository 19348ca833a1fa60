/** Which projection wants which log: by emitter and first topic together, never by topic alone. */
import type { Address, Hex } from 'viem';
import type { LogFilter } from '../../runtime/chain/read-logs.ts';
import type { IndexedLog, Projection } from './projection.ts';
import type { VaultSet } from './vault-set.ts';

export type Write<DB> = ReturnType<Projection<DB>['prepare']>;

export class Routing<DB> {
  readonly filter: LogFilter;
  readonly #wanting = new Map<string, Projection<DB>[]>();

  constructor(projections: readonly Projection<DB>[], vaults: VaultSet) {
    const addresses = new Set<Address>([vaults.registry]);
    const topics = new Set<Hex>(vaults.topics);
    const want = (projection: Projection<DB>, from: readonly Address[], of: readonly Hex[]) => {
      for (const topic of of) topics.add(topic);
      for (const emitter of from) {
        const address = emitter.toLowerCase() as Address;
        addresses.add(address);
        for (const topic of of) {
          const known = this.#wanting.get(address + topic);
          if (known === undefined) this.#wanting.set(address + topic, [projection]);
          else if (!known.includes(projection)) known.push(projection);
        }
      }
    };
    for (const projection of projections) {
      want(projection, projection.addresses, projection.topics);
      want(projection, vaults.addresses, projection.vaultTopics ?? []);
    }
    this.filter = { addresses: [...addresses], topics: [...topics] };
  }

  /** What each projection that wants some of the logs writes of them. */
  prepare(logs: readonly IndexedLog[]): Write<DB>[] {
    return [...this.#sort(logs)].map(([projection, wanted]) => projection.prepare(wanted));
  }

  /** The logs of each projection, in their order. */
  #sort(logs: readonly IndexedLog[]): Map<Projection<DB>, IndexedLog[]> {
    const sorted = new Map<Projection<DB>, IndexedLog[]>();
    for (const log of logs) {
      for (const projection of this.#wanting.get(log.address + log.topics[0]) ?? []) {
        const wanted = sorted.get(projection);
        if (wanted === undefined) sorted.set(projection, [log]);
        else wanted.push(log);
      }
    }
    return sorted;
  }
}
