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
import { Routing, type Write } from './routing.ts';
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

  /** @param most logs; the answer that goes beyond is the last one until some are written. */
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

/** The logs of a range, of which it is not known yet whether the chain stood still meanwhile. */
type Found<DB> = {
  to: number;
  hash: Hex;
  logs: IndexedLog[];
  discovered: boolean;
  /** Those of the rows, and what this range and those before it append. */
  vaults: ReadonlySet<Address>;
  rows: Promise<Write<DB>[]>;
  known: Checkpoint | null;
  further: Further;
};

/** What one range holds, ready to be written. */
export type Step<DB> = Pick<Found<DB>, 'to' | 'hash' | 'logs' | 'discovered' | 'rows'>;

/** A range that is being read. Null: there is none. */
export class Coming<DB> {
  readonly found: Promise<Found<DB> | null>;
  readonly step: Promise<Step<DB> | null>;
  /** Set once it is there and its logs are taken apart. */
  ready: Step<DB> | null = null;

  constructor(found: Promise<Found<DB> | null>, verify: (found: Found<DB>) => Promise<void>) {
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
    // Both are awaited in their turn, unless one before it fails first.
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
    return this.#coming(this.#findAt(position, run, place), run);
  }

  /**
   * The range after one that is being read: asked for as soon as the logs of that one are there, since they name the
   * vaults. Whether these stand is found out meanwhile.
   * @param cursor up to where the rows reach
   */
  after(before: Coming<DB>, run: Run, cursor: () => Checkpoint | null): Coming<DB> {
    const find = async (): Promise<Found<DB> | null> => {
      const found = await before.found;
      if (found === null || found.to >= run.head.block) return null;
      const end = { block: found.to, hash: found.hash };
      // Of ranges that are read again the rows reach further already.
      const at = cursor();
      const known = at !== null && at.block > end.block ? at : end;
      const { vaults, further } = found;
      await run.backlog.room();
      return await this.#findAt(found.to + 1, run, { vaults, known, further });
    };
    return this.#coming(find(), run);
  }

  #coming(found: Promise<Found<DB> | null>, run: Run): Coming<DB> {
    return new Coming(found, (range) => this.#verify(range, run));
  }

  async #findAt(position: number, run: Run, place: Place): Promise<Found<DB>> {
    for (;;) {
      const found = await this.#find(position, run.head, place);
      if (found === null) continue;
      run.backlog.add(found.logs.length);
      return found;
    }
  }

  /** Null when the node refused the range and the next try is shorter. */
  async #find(from: number, head: Header, place: Place): Promise<Found<DB> | null> {
    const { known } = place;
    const to = this.#endOf(from, head);
    const hash = await this.#hashAt(to, place.further);
    const next = this.#endOf(to + 1, head);
    const further = this.#tail.hashOf(next);
    // Awaited below, unless the logs cannot be had.
    further.catch(() => undefined);
    let logs = await this.#reader.read(this.#routing(place.vaults).filter, from, to);
    if (logs === null) return null;
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
      further: { block: next, hash: await further },
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
  async #verify({ to, hash, logs, known }: Found<DB>, { linked }: Run): Promise<void> {
    await linked;
    this.#makeSureOfTail(logs);
    const before = known === null ? [] : [known];
    await Promise.all([{ block: to, hash }, ...before].map((each) => this.#makeSure(each)));
  }

  /** Made anew for every range: vaults and what a projection wants may have grown. */
  #routing(known: ReadonlySet<Address>): Routing<DB> {
    return new Routing(this.#options.projections, this.#options.vaults, known);
  }

  /** Takes the logs apart once the next range has been asked for. */
  #prepare(vaults: ReadonlySet<Address>, logs: readonly IndexedLog[]): Promise<Write<DB>[]> {
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
