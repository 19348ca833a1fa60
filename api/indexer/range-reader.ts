/**
 * Reads the logs of one range of blocks after another and takes them apart, ahead of the store. A range counts only if
 * the chain stood still around it (rules 5 and 6 of indexer.ts).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Address, Hex, PublicClient } from 'viem';
import { inChainOrder, LogReader } from '../../runtime/chain/log-reader.ts';
import type { HeldLogs } from '../../runtime/chain/held-logs.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ChainTail, Header } from './chain-tail.ts';
import type { Checkpoint } from './checkpoints.ts';
import type { IndexedLog, Projection } from './projection.ts';
import { type Prepared, Routing } from './routing.ts';
import type { VaultSet } from './vault-set.ts';

/** Of logs, on their way at once: a node that has several cores works on as many, and none refuses so few. */
const RANGES_AT_ONCE = 4;

export type RangeOptions<DB> = {
  client: PublicClient;
  projections: readonly Projection<DB>[];
  vaults: VaultSet;
  logger: Logger;
  startBlock: number;
  maxRange: number;
  overlap: number;
  takeApart?: TakeApart<DB> | undefined;
};

/** The head that a run reads up to; `linked` leads the tail of the chain up to it, once. */
export type Run = {
  head: Header;
  linked: () => Promise<void>;
  backlog: Backlog;
  /** Set once nobody waits for its ranges any more: none is asked for then. */
  hasEnded: boolean;
};

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

/** A range that was asked for. */
type Asking = {
  from: number;
  to: number;
  hash: Hex;
  place: Place;
  /** Of the block that the range before ended in, as it was when this one was asked for; null for the first one. */
  parent: Hex | null;
  further: Promise<Further>;
};

/** Its logs are on their way. */
type Asked<DB> = Asking & {
  /** Null when the node refused the range and the next try is shorter. */
  logs: Promise<Told<DB> | null>;
};

/** What a node told of a range. */
export type Told<DB> = {
  /** In chain order; without those that nothing but `made` is of. */
  logs: IndexedLog[];
  /** Rows that are made already, of all logs that their projection wants. */
  made: Prepared<DB>;
  /** Logs in all, and the blocks that they are of, each at least once. */
  count: number;
  blocks: readonly { block: number; blockHash: Hex }[];
};

/** Takes a large answer apart elsewhere; null where it has to be done here. */
export type TakeApart<DB> = (held: HeldLogs, routing: Routing<DB>) => Promise<Told<DB> | null>;

/** The logs of a range, of which it is not known yet whether the chain stood still meanwhile. */
type Found<DB> = {
  to: number;
  hash: Hex;
  told: Told<DB>;
  discovered: boolean;
  /** Those of the rows, and what this range and those before it append. */
  vaults: ReadonlySet<Address>;
  rows: Promise<Prepared<DB>>;
  known: Checkpoint | null;
  further: Further;
};

/** What one range holds, ready to be written. */
export type Step<DB> = Pick<Found<DB>, 'to' | 'hash' | 'told' | 'discovered' | 'rows'>;

/** Where a range ends, for the one after it. */
type End = { to: number; hash: Hex; vaults: ReadonlySet<Address>; further: Promise<Further> };

const endOf = ({ to, hash, place, further }: Asking): End => ({
  to,
  hash,
  vaults: place.vaults,
  further,
});

/** A range that is being read. Null: there is none. */
export class Coming<DB> {
  /** Once it was asked for ahead, or it turned out that it cannot be. */
  readonly guessed: Promise<void>;
  /** Once its logs were asked for, as the range before it ended; where the node refuses them, it stays the first one. */
  readonly asked: Promise<Asked<DB> | null>;
  readonly found: Promise<Found<DB> | null>;
  readonly step: Promise<Step<DB> | null>;
  /** Set once it is there and its logs are taken apart. */
  ready: Step<DB> | null = null;
  /** Once that is so, or never will be. */
  readonly settled: Promise<void>;
  /** The range before it; null once that one is found. */
  #before: Coming<DB> | null;
  #guess: Asked<DB> | null = null;
  #end: End | null = null;

  /** @param guess the same as `asked`, as far as it can be told while the ranges before it are being read */
  constructor(
    { before, guess, asked }: Order<DB>,
    find: (asked: Asked<DB>) => Promise<Found<DB>>,
    verify: (found: Found<DB>) => Promise<void>,
  ) {
    this.#before = before;
    this.guessed = guess.then((range) => {
      this.#guess = range;
    });
    this.asked = asked.then((range) => {
      this.#before = null;
      this.#end = range === null ? null : endOf(range);
      return range;
    });
    const found = this.asked.then(async (range) => {
      if (range === null) return null;
      const read = await find(range);
      this.#end = { ...read, further: Promise.resolve(read.further) };
      return read;
    });
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
    this.guessed.catch(() => undefined);
    this.asked.catch(() => undefined);
    found.catch(() => undefined);
    this.settled = settle().catch(() => undefined);
  }

  /** Where it ends, as far as that is known; null where what was asked ahead does not follow what came of those before. */
  get end(): End | null {
    if (this.#end !== null) return this.#end;
    const before = this.#before?.end ?? null;
    return this.#guess !== null && before !== null && follows(this.#guess, before)
      ? endOf(this.#guess)
      : null;
  }

  /** The range so many before it; null where that one is found. */
  behind(count: number): Coming<DB> | null {
    return count === 0 ? this : (this.#before?.behind(count - 1) ?? null);
  }
}

/** What a range is read by. */
type Order<DB> = {
  before: Coming<DB> | null;
  guess: Promise<Asked<DB> | null>;
  asked: Promise<Asked<DB> | null>;
};

const follows = ({ from, parent, place }: Asking, { to, hash, vaults }: End): boolean =>
  from === to + 1 && parent === hash && place.vaults === vaults;

export class RangeReader<DB> {
  readonly #options: RangeOptions<DB>;
  readonly #reader: LogReader;
  readonly #tail: ChainTail;
  #history: History | null = null;

  constructor(options: RangeOptions<DB>, tail: ChainTail) {
    this.#options = options;
    this.#reader = new LogReader(options);
    this.#tail = tail;
  }

  /** The range from `position` on, as long as the node takes it. */
  at(position: number, run: Run, place: Place): Coming<DB> {
    const asked = this.#ask(position, run, place);
    return this.#coming({ before: null, guess: asked, asked }, run);
  }

  /**
   * The range after one that is being read: asked for while the node works on those before it, as if they named no
   * vaults, and anew where they do. Few are on their way at once. Whether they stand is found out meanwhile.
   * @param cursor up to where the rows reach
   */
  after(before: Coming<DB>, run: Run, cursor: () => Checkpoint | null): Coming<DB> {
    const followOf = async ({ to, hash, vaults, further }: End): Promise<Asked<DB> | null> => {
      if (to >= run.head.block) return null;
      // Of ranges that are read again the rows reach further already.
      const at = cursor();
      const known = at !== null && at.block > to ? at : { block: to, hash };
      const place = { vaults, known, further: await further };
      return await this.#ask(to + 1, run, place, hash);
    };
    const askAhead = async (): Promise<Asked<DB> | null> => {
      await before.guessed;
      await before.behind(RANGES_AT_ONCE - 1)?.found;
      await run.backlog.room();
      if (before.end === null) await before.asked;
      return before.end === null ? null : await followOf(before.end);
    };
    const guess = askAhead();
    const ask = async (): Promise<Asked<DB> | null> => {
      await before.found;
      const ahead = await guess;
      const { end } = before;
      if (end === null) return null;
      return ahead !== null && follows(ahead, end) ? ahead : await followOf(end);
    };
    return this.#coming({ before, guess, asked: ask() }, run);
  }

  #coming(order: Order<DB>, run: Run): Coming<DB> {
    return new Coming(
      order,
      (range) => this.#found(range, run),
      (range) => this.#verify(range, run),
    );
  }

  /** Asks for a range, as long as the node may take. */
  async #ask(from: number, run: Run, place: Place, parent: Hex | null = null): Promise<Asked<DB>> {
    if (run.hasEnded) throw new Error('the run has ended');
    const { head } = run;
    const to = this.#endOf(from, head);
    const hash = await this.#hashAt(to, place.further);
    if (run.hasEnded) throw new Error('the run has ended');
    const next = this.#endOf(to + 1, head);
    const further = this.#tail.hashOf(next).then((found) => ({ block: next, hash: found }));
    const logs = this.#read(this.#routing(place.vaults), from, to);
    // Both are awaited in their turn, unless one before them fails first.
    further.catch(() => undefined);
    logs.catch(() => undefined);
    if (to >= this.#tail.lowest(head)) run.linked().catch(() => undefined);
    return { from, to, hash, place, parent, further, logs };
  }

  /** What the node tells of a range, or of a shorter one where it refuses that. */
  async #found(asked: Asked<DB>, run: Run): Promise<Found<DB>> {
    for (let range = asked; ; range = await this.#ask(range.from, run, range.place, range.parent)) {
      const told = await range.logs;
      if (told === null) continue;
      const found = await this.#take(range, told, run);
      run.backlog.add(found.told.count);
      return found;
    }
  }

  /** @returns null when the node refused the range and the next one is shorter. */
  async #read(routing: Routing<DB>, from: number, to: number): Promise<Told<DB> | null> {
    const { takeApart } = this.#options;
    const elsewhere =
      takeApart === undefined ? undefined : (held: HeldLogs) => takeApart(held, routing);
    const read = await this.#reader.read(routing.filter, from, to, elsewhere);
    return Array.isArray(read) ? toldBy(read) : read;
  }

  async #take(asked: Asked<DB>, read: Told<DB>, run: Run): Promise<Found<DB>> {
    const { to, hash, place, further } = asked;
    const { known } = place;
    let told = read;
    const found = this.#options.vaults.newIn(told.logs, place.vaults);
    if (found.length > 0) {
      // Their history belongs among the logs, of which none may be taken apart without it.
      if (told.made.size > 0) throw new Error('baskets were appended in what was taken apart');
      told = toldBy([...told.logs, ...(await this.#logsOf(found, asked, run))].sort(inChainOrder));
    }
    const vaults = found.length === 0 ? place.vaults : new Set([...place.vaults, ...found]);
    return {
      to,
      hash,
      told,
      discovered: found.length > 0,
      vaults,
      rows: this.#prepare(vaults, told),
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
  async #verify({ to, hash, told, known }: Found<DB>, { head, linked }: Run): Promise<void> {
    // Of blocks further below the head its tail says nothing.
    if (to >= this.#tail.lowest(head)) {
      await linked();
      const here = this.#tail.at(to);
      if (here !== null && here !== hash) throw changed(to);
    }
    this.#makeSureOfTail(told);
    const before = known === null ? [] : [known];
    await Promise.all([{ block: to, hash }, ...before].map((each) => this.#makeSure(each)));
  }

  /** Made anew for every range: vaults and what a projection wants may have grown. */
  #routing(known: ReadonlySet<Address>): Routing<DB> {
    return new Routing(this.#options.projections, this.#options.vaults, known);
  }

  /** Takes the logs apart once the next range has been asked for. */
  #prepare(vaults: ReadonlySet<Address>, { logs, made }: Told<DB>): Promise<Prepared<DB>> {
    const rows = (async () => {
      await nextTurn();
      return this.#routing(vaults).prepare(logs, made);
    })();
    // Awaited in its turn, unless a range before it fails first.
    rows.catch(() => undefined);
    return rows;
  }

  #endOf(from: number, head: { block: number }): number {
    return Math.min(from + this.#reader.range - 1, head.block);
  }

  /** @throws when another block is there. */
  async #makeSure({ block, hash }: Checkpoint): Promise<void> {
    if ((await this.#tail.hashNow(block)) !== hash) throw changed(block);
  }

  /** @throws when a log near the head is of a block that the head's chain does not have. */
  #makeSureOfTail({ blocks }: Told<DB>): void {
    for (const { block, blockHash } of blocks) {
      const linked = this.#tail.at(block);
      if (linked === null || linked === blockHash) continue;
      throw new Error(`a node told of a log in a block ${block} that was replaced`);
    }
  }

  /** Everything of vaults that were appended just now: they lived before, and so did their shares. */
  async #logsOf(vaults: readonly Address[], { to, hash }: Asking, run: Run): Promise<IndexedLog[]> {
    const { projections, startBlock, logger, overlap } = this.#options;
    const history = await this.#historyOf(vaults.join(), to, hash);
    if (history.next === startBlock) {
      logger.info({ vaults: vaults.length }, 'baskets were appended: their history is read');
    }
    const topics = [...new Set(projections.flatMap(({ vaultTopics }) => vaultTopics ?? []))];
    try {
      while (history.next <= to) {
        if (run.hasEnded) throw new Error('the run has ended');
        const end = this.#endOf(history.next, { block: to });
        const logs = await this.#reader.read({ addresses: vaults, topics }, history.next, end);
        if (logs === null) continue;
        history.logs.push(...logs);
        history.next = end + 1;
        // A node that lags tells less of the newest blocks: those are read again where it is gone on with.
        const old = Math.min(end, run.head.block - overlap);
        history.sure = Math.max(history.sure, old + 1);
      }
    } finally {
      // Whole or not: what comes after it may fail.
      this.#history = history;
    }
    return history.logs.filter(({ block }) => block <= to);
  }

  /** What was read of it before a run failed, as long as that is of this chain: a copy, for this run alone. */
  async #historyOf(vaults: string, to: number, hash: Hex): Promise<History> {
    const { startBlock } = this.#options;
    const kept = this.#history;
    const fresh = { vaults, to, hash, next: startBlock, sure: startBlock, logs: [] };
    if (kept?.vaults !== vaults) return fresh;
    if ((await this.#tail.hashNow(kept.to)) !== kept.hash) return fresh;
    const next = Math.min(kept.next, kept.sure);
    const logs = kept.logs.filter(({ block }) => block < next);
    // What is read from now on is of this block's chain.
    return to > kept.to ? { ...kept, to, hash, next, logs } : { ...kept, next, logs };
  }

  /** Once it is written. */
  forgetHistory(): void {
    this.#history = null;
  }
}

/**
 * Logs of baskets that were appended, as far as they are read: below `next`, and below `sure` no node lagged. `to` and
 * `hash`: of a block of their chain.
 */
type History = {
  vaults: string;
  to: number;
  hash: Hex;
  next: number;
  sure: number;
  logs: IndexedLog[];
};

const toldBy = <DB>(logs: IndexedLog[]): Told<DB> => ({
  logs,
  made: new Map(),
  count: logs.length,
  blocks: logs,
});

const changed = (block: number): Error =>
  new Error(`block ${block} changed while the logs around it were read`);
