/** Which projection wants which log: by emitter and first topic together, never by topic alone. */
import type { Address, Hex } from 'viem';
import type { LogFilter } from '../../runtime/chain/read-logs.ts';
import type { IndexedLog, Projection } from './projection.ts';
import type { VaultSet } from './vault-set.ts';

export type Write<DB> = ReturnType<Projection<DB>['prepare']>;

export class Routing<DB> {
  readonly filter: LogFilter;
  /** By emitter, then by first topic. */
  readonly #wanting = new Map<string, Map<string, Projection<DB>[]>>();

  /** @param known the vaults whose logs are ours */
  constructor(
    projections: readonly Projection<DB>[],
    vaults: VaultSet,
    known: ReadonlySet<Address>,
  ) {
    const addresses = new Set<Address>([vaults.registry]);
    const topics = new Set<Hex>(vaults.topics);
    const want = (projection: Projection<DB>, from: readonly Address[], of: readonly Hex[]) => {
      for (const topic of of) topics.add(topic);
      for (const emitter of from) {
        const address = emitter.toLowerCase() as Address;
        addresses.add(address);
        const ofEmitter = this.#wanting.get(address) ?? new Map<string, Projection<DB>[]>();
        this.#wanting.set(address, ofEmitter);
        for (const topic of of) {
          const known = ofEmitter.get(topic);
          if (known === undefined) ofEmitter.set(topic, [projection]);
          else if (!known.includes(projection)) known.push(projection);
        }
      }
    };
    for (const projection of projections) {
      want(projection, projection.addresses, projection.topics);
      want(projection, [...known], projection.vaultTopics ?? []);
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
      for (const projection of this.#wanting.get(log.address)?.get(log.topics[0] ?? '') ?? []) {
        const wanted = sorted.get(projection);
        if (wanted === undefined) sorted.set(projection, [log]);
        else wanted.push(log);
      }
    }
    return sorted;
  }
}
