/**
 * Reads the logs of one range of blocks after another and takes them apart, ahead of the store. A range counts only if
 * the chain stood still around it (rules 5 and 6 of indexer.ts).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Address, Hex, PublicClient } from 'viem';
import { inChainOrder, LogReader } from '../../runtime/chain/log-reader.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ChainTail, Header } from './chain-tail.ts';
import type { Checkpoint } from './checkpoints.ts';
import type { IndexedLog, Projection } from './projection.ts';
import { type Prepared, Routing } from './routing.ts';
import type { VaultSet } from './vault-set.ts';

export type RangeOptions<DB> = {
  client: PublicClient;
  projections: readonly Projection<DB>[];
  vaults: VaultSet;
  logger: Logger;
  startBlock: number;
  maxRange: number;
};

/** The head that a run reads up to; `linked` once the tail of the chain reaches it. */
export type Run = { head: Header; linked: Promise<void>; backlog: Backlog };

/** Logs that are there and not yet written: what waits in memory for the store. */
export class Backlog {
  readonly #most: number;
  #logs = 0;
  #wake: (() => void) | null = null;

  /** @param most logs; those that are on their way when an answer goes beyond it come on top. */
  constructor(most: number) {
    this.#most = most;
  }

  add(logs: number): void {
    this.#logs += logs;
  }

  written(logs: number): void {
    this.#logs -= logs;
    if (this.#logs < this.#most) this.#wake?.();
  }

  /** Resolves once there is room for more; never where the run ended before. One waits at a time. */
  async room(): Promise<void> {
    if (this.#logs < this.#most) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = null;
  }
}

/** What a range follows. */
export type Place = {
  vaults: ReadonlySet<Address>;
  /** Block up to which the rows are there, or will be when the range's are written; null: none, or linked to the head. */
  known: Checkpoint | null;
  further?: Further;
};

/** A block further on as it was a moment ago: where the next range may end. */
type Further = { block: number; hash: Hex | null };

/** A range whose logs are on their way. */
type Asked = {
  from: number;
  to: number;
  hash: Hex;
  place: Place;
  further: Promise<Further>;
  /** Null when the node refused the range and the next try is shorter. */
  logs: Promise<IndexedLog[] | null>;
};

/** The logs of a range, of which it is not known yet whether the chain stood still meanwhile. */
type Found<DB> = {
  to: number;
  hash: Hex;
  logs: IndexedLog[];
  discovered: boolean;
  /** Those of the rows, and what this range and those before it append. */
  vaults: ReadonlySet<Address>;
  rows: Promise<Prepared<DB>>;
  known: Checkpoint | null;
  further: Further;
};

/** What one range holds, ready to be written. */
export type Step<DB> = Pick<Found<DB>, 'to' | 'hash' | 'logs' | 'discovered' | 'rows'>;

/** A range that is being read. Null: there is none. */
export class Coming<DB> {
  /** Once its logs were asked for, as the range before it ended; where the node refuses them, it stays the first one. */
  readonly asked: Promise<Asked | null>;
  readonly found: Promise<Found<DB> | null>;
  readonly step: Promise<Step<DB> | null>;
  /** Set once it is there and its logs are taken apart. */
  ready: Step<DB> | null = null;

  constructor(
    asked: Promise<Asked | null>,
    find: (asked: Asked) => Promise<Found<DB> | null>,
    verify: (found: Found<DB>) => Promise<void>,
  ) {
    this.asked = asked;
    const found = asked.then((range) => (range === null ? null : find(range)));
    this.found = found;
    this.step = (async () => {
      const range = await found;
      if (range !== null) await verify(range);
      return range;
    })();
    const settle = async () => {
      const step = await this.step;
      await step?.rows;
      this.ready = step;
    };
    // All are awaited in their turn, unless one before it fails first.
    asked.catch(() => undefined);
    found.catch(() => undefined);
    settle().catch(() => undefined);
  }
}

export class RangeReader<DB> {
  readonly #options: RangeOptions<DB>;
  readonly #reader: LogReader;
  readonly #tail: ChainTail;

  constructor(options: RangeOptions<DB>, tail: ChainTail) {
    this.#options = options;
    this.#reader = new LogReader(options);
    this.#tail = tail;
  }

  /** The range from `position` on, as long as the node takes it. */
  at(position: number, run: Run, place: Place): Coming<DB> {
    const asked = this.#ask(position, run.head, place);
    return new Coming(
      asked,
      (range) => this.#found(range, run),
      (range) => this.#verify(range, run),
    );
  }

  /**
   * The range after one that is being read: asked for while the node works on that one, as if that named no vaults, and
   * anew where it does. Two are on their way at once, no more. Whether they stand is found out meanwhile.
   * @param cursor up to where the rows reach
   */
  after(before: Coming<DB>, run: Run, cursor: () => Checkpoint | null): Coming<DB> {
    const followOf = async (
      end: Checkpoint,
      vaults: ReadonlySet<Address>,
      further: Further,
    ): Promise<Asked | null> => {
      if (end.block >= run.head.block) return null;
      // Of ranges that are read again the rows reach further already.
      const at = cursor();
      const known = at !== null && at.block > end.block ? at : end;
      return await this.#ask(end.block + 1, run.head, { vaults, known, further });
    };
    const askEarly = async (): Promise<Asked | null> => {
      // There once the range before that one is found: no third one is on its way.
      const ahead = await before.asked;
      if (ahead === null) return null;
      await run.backlog.room();
      const { to, hash, place, further } = ahead;
      return await followOf({ block: to, hash }, place.vaults, await further);
    };
    const early = askEarly();
    // Awaited in its turn, unless the range before it fails first.
    early.catch(() => undefined);
    const ask = async (): Promise<Asked | null> => {
      const found = await before.found;
      if (found === null) return null;
      const { to, hash, vaults, further } = found;
      const asked = await early;
      const stands = asked?.from === to + 1 && asked.place.vaults === vaults;
      return stands ? asked : await followOf({ block: to, hash }, vaults, further);
    };
    return new Coming(
      ask(),
      (range) => this.#found(range, run),
      (range) => this.#verify(range, run),
    );
  }

  /** Asks for a range, as long as the node may take. */
  async #ask(from: number, head: Header, place: Place): Promise<Asked> {
    const to = this.#endOf(from, head);
    const hash = await this.#hashAt(to, place.further);
    const next = this.#endOf(to + 1, head);
    const further = this.#tail.hashOf(next).then((found) => ({ block: next, hash: found }));
    const logs = this.#reader.read(this.#routing(place.vaults).filter, from, to);
    // Both are awaited in their turn, unless one before them fails first.
    further.catch(() => undefined);
    logs.catch(() => undefined);
    return { from, to, hash, place, further, logs };
  }

  /** What the node tells of a range, or of a shorter one where it refuses that. */
  async #found(asked: Asked, run: Run): Promise<Found<DB>> {
    for (let range = asked; ; range = await this.#ask(range.from, run.head, range.place)) {
      const logs = await range.logs;
      if (logs === null) continue;
      const found = await this.#take(range, logs);
      run.backlog.add(found.logs.length);
      return found;
    }
  }

  async #take({ to, hash, place, further }: Asked, told: IndexedLog[]): Promise<Found<DB>> {
    const { known } = place;
    let logs = told;
    const found = this.#options.vaults.newIn(logs, place.vaults);
    if (found.length > 0) logs = [...logs, ...(await this.#logsOf(found, to))].sort(inChainOrder);
    const vaults = found.length === 0 ? place.vaults : new Set([...place.vaults, ...found]);
    return {
      to,
      hash,
      logs,
      discovered: found.length > 0,
      vaults,
      rows: this.#prepare(vaults, logs),
      known,
      further: await further,
    };
  }

  /** @throws where the node does not have the block (yet). */
  async #hashAt(block: number, further: Further | undefined): Promise<Hex> {
    const known = further?.block === block ? further.hash : null;
    const hash = known ?? (await this.#tail.hashOf(block));
    if (hash === null) throw changed(block);
    return hash;
  }

  /** @throws when the chain moved under the read: the next run sees the reorg and starts from a sound place. */
  async #verify({ to, hash, logs, known }: Found<DB>, { head, linked }: Run): Promise<void> {
    // Of blocks further below the head its tail says nothing.
    if (to >= this.#tail.lowest(head)) await linked;
    this.#makeSureOfTail(logs);
    const before = known === null ? [] : [known];
    await Promise.all([{ block: to, hash }, ...before].map((each) => this.#makeSure(each)));
  }

  /** Made anew for every range: vaults and what a projection wants may have grown. */
  #routing(known: ReadonlySet<Address>): Routing<DB> {
    return new Routing(this.#options.projections, this.#options.vaults, known);
  }

  /** Takes the logs apart once the next range has been asked for. */
  #prepare(vaults: ReadonlySet<Address>, logs: readonly IndexedLog[]): Promise<Prepared<DB>> {
    const rows = (async () => {
      await nextTurn();
      return this.#routing(vaults).prepare(logs);
    })();
    // Awaited in its turn, unless a range before it fails first.
    rows.catch(() => undefined);
    return rows;
  }

  #endOf(from: number, head: Header): number {
    return Math.min(from + this.#reader.range - 1, head.block);
  }

  /** @throws when another block is there. */
  async #makeSure({ block, hash }: Checkpoint): Promise<void> {
    if ((await this.#tail.hashNow(block)) !== hash) throw changed(block);
  }

  /** @throws when a log near the head is of a block that the head's chain does not have. */
  #makeSureOfTail(logs: readonly IndexedLog[]): void {
    for (const { block, blockHash } of logs) {
      const linked = this.#tail.at(block);
      if (linked === null || linked === blockHash) continue;
      throw new Error(`a node told of a log in a block ${block} that was replaced`);
    }
  }

  /** Everything of vaults that were appended just now: they lived before, and so did their shares. */
  async #logsOf(vaults: readonly Address[], to: number): Promise<IndexedLog[]> {
    const { projections, startBlock, logger } = this.#options;
    logger.info({ vaults: vaults.length }, 'baskets were appended: their history is read');
    const topics = [...new Set(projections.flatMap(({ vaultTopics }) => vaultTopics ?? []))];
    return await this.#reader.readAll({ addresses: vaults, topics }, startBlock, to);
  }
}

const changed = (block: number): Error =>
  new Error(`block ${block} changed while the logs around it were read`);
