/** Which projection wants which log: by emitter and first topic together, never by topic alone. */
import type { Address, Hex } from 'viem';
import type { LogFilter } from '../../runtime/chain/read-logs.ts';
import type { IndexedLog, Projection, Rows } from './projection.ts';
import type { VaultSet } from './vault-set.ts';

/** Rows of some logs, by projection. */
export type Prepared<DB> = ReadonlyMap<Projection<DB>, Rows<DB>>;

/** Logs of one kind; `isAlone`: no other projection wants them. */
export type Wanted = { emitter: string; topic: string; isAlone: boolean };

export class Routing<DB> {
  readonly filter: LogFilter;
  readonly #projections: readonly Projection<DB>[];
  /** By emitter, then by first topic. */
  readonly #wanting = new Map<string, Map<string, Projection<DB>[]>>();

  /** @param known the vaults whose logs are ours */
  constructor(
    projections: readonly Projection<DB>[],
    vaults: VaultSet,
    known: ReadonlySet<Address>,
  ) {
    this.#projections = projections;
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

  /**
   * What each projection that wants some of the logs writes of them.
   * @param made the rows of projections that were made already
   */
  prepare(logs: readonly IndexedLog[], made: Prepared<DB> = new Map()): Prepared<DB> {
    const rest = [...this.#sort(logs)].filter(([projection]) => !made.has(projection));
    return new Map([
      ...made,
      ...rest.map(([projection, wanted]) => [projection, projection.prepare(wanted)] as const),
    ]);
  }

  /** A projection and which logs it wants. @throws where none is called so */
  of(name: string): { projection: Projection<DB>; wanted: Wanted[] } {
    const projection = this.#projections.find((each) => each.name === name);
    if (projection === undefined) throw new Error(`there is no projection ${name}`);
    const wanted = [...this.#wanting].flatMap(([emitter, ofEmitter]) =>
      [...ofEmitter]
        .filter(([, wanting]) => wanting.includes(projection))
        .map(([topic, wanting]) => ({ emitter, topic, isAlone: wanting.length === 1 })),
    );
    return { projection, wanted };
  }

  /** The logs of each projection, in their order. */
  #sort(logs: readonly IndexedLog[]): Map<Projection<DB>, IndexedLog[]> {
    const sorted = new Map<Projection<DB>, IndexedLog[]>();
    let last: { log: IndexedLog; wanted: IndexedLog[][] } | null = null;
    for (const log of logs) {
      // Most logs are as the one before them: to look them up costs more than to compare them.
      if (last?.log.topics[0] !== log.topics[0] || last?.log.address !== log.address) {
        last = { log, wanted: this.#listsOf(log, sorted) };
      }
      for (const wanted of last?.wanted ?? []) wanted.push(log);
    }
    return sorted;
  }

  /** Where a log goes: the list of each projection that wants it. */
  #listsOf(log: IndexedLog, sorted: Map<Projection<DB>, IndexedLog[]>): IndexedLog[][] {
    const wanting = this.#wanting.get(log.address)?.get(log.topics[0] ?? '') ?? [];
    return wanting.map((projection) => {
      const list = sorted.get(projection) ?? [];
      sorted.set(projection, list);
      return list;
    });
  }
}

/** The rows of ranges that follow one another, those of one projection as one where it can. */
export function allOf<DB>(ranges: readonly Prepared<DB>[]): Rows<DB>[] {
  const all = new Map<Projection<DB>, Rows<DB>[]>();
  for (const range of ranges) {
    for (const [projection, rows] of range) {
      const own = all.get(projection);
      const last = own?.pop();
      if (own === undefined || last === undefined) all.set(projection, [rows]);
      else own.push(...(last.joined === undefined ? [last, rows] : [last.joined(rows)]));
    }
  }
  return [...all.values()].flat();
}
