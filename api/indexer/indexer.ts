/**
 * Reads logs into the store. What must hold:
 * 1. Rows are those of a fresh sync of the same chain, whatever reorgs, restarts and refusals came between.
 * 2. Rows and cursor move together: one store transaction for what came while the one before it was under way.
 * 3. Nothing is undone because a node does not know a block: only because it has another block at that height.
 * 4. A node that lags answers without its newest logs: the last blocks are read again in every run (overlap.ts), of
 *    which there is one a second at the least.
 * 5. Logs count only if the block that ends their range had the same hash before and after they were read, and the
 *    range before it ends in the block that it ended in: ranges of two chains never follow one another.
 * 6. Near the head, where chains part, nothing hangs on a single answer: the blocks there are linked by their parents
 *    to the head of the run, and cursor and logs have to be of them.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Hash, PublicClient } from 'viem';
import { isLimit } from '../../runtime/chain/read-logs.ts';
import { steadyNow } from '../../runtime/clock.ts';
import { within } from '../../runtime/deadline.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ReadinessResult } from '../../runtime/readiness.ts';
import { ChainTail, type Header } from './chain-tail.ts';
import {
  type Checkpoint,
  type CheckpointTables,
  checkpointsBelow,
  dropCheckpointsAbove,
  latestCheckpoint,
  readIdentity,
  writeCheckpoint,
  writeIdentity,
} from './checkpoints.ts';
import { beginEpoch, type EpochTables } from './epoch.ts';
import { HeadWatch } from './head-watch.ts';
import type { WriteTransaction } from './lead.ts';
import { Overlap } from './overlap.ts';
import type { Projection } from './projection.ts';
import {
  Backlog,
  type Coming,
  RangeReader,
  type Run,
  type Step,
  type TakeApart,
} from './range-reader.ts';
import { allOf } from './routing.ts';
import type { VaultSet, VaultTables } from './vault-set.ts';

/** What the indexer itself keeps. */
export type IndexerTables = CheckpointTables & VaultTables & EpochTables;

export type IndexerOptions<DB extends IndexerTables> = {
  client: PublicClient;
  db: Kysely<DB>;
  /** What every change of rows runs in. */
  write: WriteTransaction<DB>;
  projections: readonly Projection<DB>[];
  vaults: VaultSet;
  logger: Logger;
  /** Called with every head that a node shows. */
  onHead: (block: number) => void;
  /** First block that can hold a log of ours. */
  startBlock: number;
  /** Names the deployment and what is read of it; rows of another one are dropped at the start. */
  identity: string;
  maxRange: number;
  /** By so many blocks a node may lag behind the head that it shows. */
  overlap: number;
  /** Takes large answers apart off the event loop (bulk-logs.ts); absent: nothing does. */
  takeApart?: TakeApart<DB> | undefined;
  /** Behind the head by more than this is not ready. */
  maxLagMs: number;
};

const FORK_SEARCH = 500;
/** What waits in memory for the store: ranges, most of which hold little, and logs. */
const RANGES_AHEAD = 16;
const LOGS_AHEAD = 30_000;
/** Each write has a price of its own (the disk, and hours and days of NAV made anew): little is held back so long. */
const TOGETHER_MS = 50;
const LOGS_A_WRITE = 2_000;
/** A run that a limit of calls ended is followed by the next one after so long, and ever later. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 2_000;
/** Under a head that stands the last blocks are read again so often: the node that told their logs may have lagged. */
const REREAD_MS = 1_000;
/** How long a replica may lag that was believed once. */
const SEAM_MS = 60_000;

const logsOf = (steps: readonly { told: { count: number } }[]): number =>
  steps.reduce((sum, { told }) => sum + told.count, 0);

/** A range that is taken apart within so many milliseconds; null where it is not, or fails, which is told in its turn. */
async function soon<DB>(coming: Coming<DB>, ms: number): Promise<Step<DB> | null> {
  // expected to be over: then it comes with a later write
  if (ms > 0) await within(coming.settled, ms, 'the next range').catch(() => undefined);
  return coming.ready;
}

export class Indexer<DB extends IndexerTables> {
  readonly #options: IndexerOptions<DB>;
  readonly #ranges: RangeReader<DB>;
  readonly #heads: HeadWatch;
  readonly #tail: ChainTail;
  readonly #overlap: Overlap;
  #cursor: Checkpoint | null = null;
  #head = 0;
  #started = false;
  #hasEnded = false;
  /** Ends the wait for a range that is being read. */
  #release: () => void = () => undefined;
  #caughtUpAt = 0;
  #generation = 0;
  /** Runs in a row that a limit of calls ended: then one range is asked for after the other, and the next run waits. */
  #limitedRuns = 0;
  /** Where rows of this run were joined to those before a gap; the lowest one that is not sure yet. */
  #seam: (Checkpoint & { untilMs: number }) | null = null;
  /** The head under which a run came through last, and when it began; null: none since the rows were opened. */
  #readUnder: { head: Hash; atMs: number } | null = null;
  /** A head that this process saw and whose rows another has to write. */
  #goal: { block: number; at: number } | null = null;

  constructor(options: IndexerOptions<DB>) {
    this.#options = options;
    this.#heads = new HeadWatch({ logger: options.logger, patienceMs: options.maxLagMs });
    this.#tail = new ChainTail(options.client, Math.max(options.startBlock - 1, 0));
    this.#overlap = new Overlap(options.overlap, options.startBlock);
    this.#ranges = new RangeReader(options, this.#tail);
  }

  /** Counts up whenever rows may have changed. */
  get generation(): number {
    return this.#generation;
  }

  /** True once the head was reached in this process. */
  get caughtUp(): boolean {
    return this.#caughtUpAt > 0;
  }

  /** Caught up, and the rows are of what the chain shows now. */
  get current(): boolean {
    return this.caughtUp && this.#heads.astray(this.caughtUp) === null;
  }

  /** The block through which the rows are complete; the one before the first while nothing was read. */
  get height(): number {
    return this.#cursor?.block ?? this.#options.startBlock - 1;
  }

  get lagBlocks(): number {
    return Math.max(this.#head - this.height, 0);
  }

  readiness(): ReadinessResult {
    const astray = this.#heads.astray(this.caughtUp);
    if (astray !== null) return { ok: false, reason: astray };
    if (!this.caughtUp) return { ok: false, reason: this.#whyNotCaughtUp() };
    const late = Date.now() - this.#caughtUpAt;
    return late <= this.#options.maxLagMs
      ? { ok: true }
      : {
          ok: false,
          reason: `the order index last reached the head ${Math.round(late / 1_000)} s ago`,
        };
  }

  #whyNotCaughtUp(): string {
    if (this.#head === 0) return "the chain's head has not been read yet";
    return this.lagBlocks === 0
      ? 'the order index has not yet been confirmed against the head'
      : `the order index is ${this.lagBlocks} blocks behind`;
  }

  /** For good: a run that is under way, however much is before it, ends with what it is writing. */
  end(): void {
    this.#hasEnded = true;
    this.#release();
  }

  /** How long the loop is to wait at least before the next run, from the beginning of this one, in milliseconds. */
  get pauseMs(): number {
    if (this.#limitedRuns === 0) return 0;
    return Math.min(FIRST_PAUSE_MS * 2 ** (this.#limitedRuns - 1), LONGEST_PAUSE_MS);
  }

  /** Reads up to the head. The loop calls it. @throws when the chain or the store does not answer. */
  async sync(): Promise<void> {
    try {
      await this.#sync();
      this.#limitedRuns = 0;
    } catch (error) {
      this.#limitedRuns = isLimit(error) ? this.#limitedRuns + 1 : 0;
      throw error;
    }
  }

  async #sync(): Promise<void> {
    if (!this.#started) await this.#open();
    const head = await this.#headNow();
    this.#head = head.block;
    this.#options.onHead(head.block);
    this.#heads.saw(head.block, this.#cursor?.block ?? null, this.caughtUp);
    let linking: Promise<void> | null = null;
    const linked = () => (linking ??= this.#tail.leadTo(head));
    // Without rows there is nothing to hold against it yet: the first logs can be on their way meanwhile.
    if (this.#cursor !== null || !this.#tail.isEmpty) await linked();
    if (!(await this.#undoReorg(head))) return;
    await this.#lookAtSeam(head);
    // A node behind the rows has nothing to add to them.
    if (head.block < this.height) return;
    const atMs = steadyNow();
    if (this.#standsUnder(head, atMs)) {
      this.#caughtUpAt = Date.now();
      return;
    }
    const { startBlock } = this.#options;
    const next = (this.#cursor?.block ?? startBlock - 1) + 1;
    const from = this.#overlap.startOf(next, head.block);
    const run: Run = { head, linked, backlog: new Backlog(LOGS_AHEAD), hasEnded: false };
    try {
      await this.#readTo(from, run);
    } finally {
      run.hasEnded = true;
    }
    if (this.#cursor === null || this.#cursor.block !== head.block) return;
    this.#caughtUpAt = Date.now();
    this.#readUnder = { head: head.hash, atMs };
  }

  /** Whether the rows end in this very head, and were read under it a moment ago. */
  #standsUnder(head: Header, nowMs: number): boolean {
    const read = this.#readUnder;
    return (
      read !== null &&
      read.head === head.hash &&
      this.#cursor?.hash === head.hash &&
      nowMs - read.atMs < REREAD_MS
    );
  }

  /**
   * Takes up what the process that leads has written: the loop calls it instead of {@link Indexer.sync} while another
   * leads. Caught up is what holds the rows of a head that this process saw itself.
   * @throws as `sync`.
   */
  async follow(): Promise<void> {
    this.reopen();
    const head = await this.#headNow();
    this.#head = head.block;
    this.#options.onHead(head.block);
    this.#goal ??= { block: head.block, at: Date.now() };
    const db = this.#ownDb();
    const isOurs = (await readIdentity(db)) === this.#options.identity;
    const cursor = isOurs ? await latestCheckpoint(db) : null;
    if (cursor?.hash !== this.#cursor?.hash) this.#generation += 1;
    this.#cursor = cursor;
    this.#heads.saw(head.block, this.#cursor?.block ?? null, this.caughtUp);
    if (cursor === null) {
      this.#caughtUpAt = 0;
    } else if (cursor.block >= this.#goal.block) {
      this.#caughtUpAt = this.#goal.at;
      this.#goal = null;
    }
  }

  /** What is known of the rows is read anew in the next sync: another process has written since. */
  reopen(): void {
    this.#started = false;
    this.#overlap.forget();
    this.#limitedRuns = 0;
  }

  /** Range by range; the node works on the next ones while the store takes this one. */
  async #readTo(from: number, run: Run): Promise<void> {
    let position = from;
    let coming: Coming<DB>[] = [];
    while (position <= run.head.block && !this.#hasEnded) {
      if (coming.length === 0) {
        const cursor = this.#cursor;
        const isLinked = cursor !== null && this.#tail.at(cursor.block) === cursor.hash;
        const place = { vaults: this.#options.vaults.known, known: isLinked ? null : cursor };
        if (place.known !== null) this.#seam ??= { ...place.known, untilMs: Date.now() + SEAM_MS };
        coming = [this.#ranges.at(position, run, place)];
      }
      const ahead = this.#limitedRuns === 0 ? RANGES_AHEAD : 0;
      for (let last = coming.at(-1); last && coming.length <= ahead; last = coming.at(-1)) {
        coming.push(this.#ranges.after(last, run, () => this.#cursor));
      }
      const first = await this.#unlessEnded(coming.shift()?.step);
      if (first === null) {
        coming = [];
        continue;
      }
      const steps = [first];
      const together = steadyNow() + TOGETHER_MS;
      for (let next = coming[0]; next !== undefined; next = coming[0]) {
        // Whatever came while the store was busy goes with it, and what comes soon while it is little.
        const isLittle = logsOf(steps) < LOGS_A_WRITE;
        const ready = next.ready ?? (isLittle ? await soon(next, together - steadyNow()) : null);
        if (ready === null) break;
        steps.push(ready);
        coming.shift();
      }
      try {
        await this.#write(steps);
      } catch (error) {
        // What is held in memory may be ahead of the rows now: the next run takes it up from them.
        this.#started = false;
        throw error;
      }
      for (const { told } of steps) run.backlog.written(told.count);
      position = (steps.at(-1) ?? first).to + 1;
      this.#overlap.readTo(position, run.head.block);
    }
    if (position > run.head.block) this.#overlap.through();
  }

  /** Null where this is to end before: who is waited for may take long, or hang. */
  async #unlessEnded(step: Promise<Step<DB> | null> | undefined): Promise<Step<DB> | null> {
    if (step === undefined || this.#hasEnded) return null;
    return await new Promise((resolve, reject) => {
      this.#release = () => resolve(null);
      step.then(resolve, reject);
    });
  }

  #ownDb(): Kysely<IndexerTables> {
    return this.#options.db as unknown as Kysely<IndexerTables>;
  }

  async #open(): Promise<void> {
    const db = this.#ownDb();
    const { identity, logger, startBlock } = this.#options;
    const stored = await readIdentity(db);
    if (stored !== null && stored !== identity) {
      logger.warn('the rows are of another deployment: they are dropped and read again');
      await this.#rollBackTo(startBlock - 1);
    }
    if (stored !== identity) {
      await this.#options.write(async (trx) => {
        const own = trx as unknown as Transaction<IndexerTables>;
        await writeIdentity(own, identity);
        await beginEpoch(own);
      });
    }
    this.#cursor = await latestCheckpoint(db);
    this.#overlap.takeUp(this.height);
    this.#generation += 1;
    await this.#options.vaults.load(db);
    this.#readUnder = null;
    this.#started = true;
  }

  async #headNow(): Promise<Header> {
    const head = await this.#options.client.getBlock({ blockTag: 'latest' });
    return { block: Number(head.number), hash: head.hash, parentHash: head.parentHash };
  }

  /** False when this node cannot tell yet whether our cursor is on its chain: wait. */
  async #undoReorg(head: Header): Promise<boolean> {
    const cursor = this.#cursor;
    if (cursor === null) return true;
    const here = cursor.block > head.block ? null : await this.#tail.hashOf(cursor.block);
    if (here === cursor.hash) return true;
    const from = here === null ? await this.#otherBelow(head) : cursor.block;
    if (from === null) return false;
    await this.#undoFrom(from, head);
    return true;
  }

  /** Of a height where the chain has another block than the rows: they go back to where both are one. */
  async #undoFrom(block: number, head: Header): Promise<void> {
    const ancestor = await this.#commonAncestor(block);
    this.#options.logger.warn(
      { from: this.#cursor?.block, to: ancestor, head: head.block },
      'the chain was reorganised: rows above the common ancestor are undone and read again',
    );
    await this.#rollBackTo(ancestor);
    this.#heads.saw(head.block, this.#cursor?.block ?? null, this.caughtUp);
  }

  /**
   * Where a run went on further behind the head than its tail reaches, single answers said that the rows still ended in
   * a block of the chain. The seam is looked at again for a while: a replica that lagged does not do so for ever.
   */
  async #lookAtSeam(head: Header): Promise<void> {
    const seam = this.#seam;
    if (seam === null || seam.block > head.block) return;
    const here = await this.#tail.hashNow(seam.block);
    if (here === null) return;
    if (here === seam.hash) {
      if (Date.now() > seam.untilMs) this.#seam = null;
      return;
    }
    this.#seam = null;
    await this.#undoFrom(seam.block, head);
  }

  /**
   * A head below the cursor is a lagging node's, or that of a chain that went back and grows anew: the newest hash of
   * ours at a height that it has tells which.
   * @returns that height where the chain has another block there; null where it does not, or nothing tells.
   */
  async #otherBelow(head: Header): Promise<number | null> {
    const [ours] = await checkpointsBelow(this.#ownDb(), head.block + 1, 1);
    if (ours === undefined) return null;
    const here = await this.#tail.hashOf(ours.block);
    return here === null || here === ours.hash ? null : ours.block;
  }

  async #commonAncestor(below: number): Promise<number> {
    const known = await checkpointsBelow(this.#ownDb(), below, FORK_SEARCH);
    for (const { block, hash } of known) {
      if ((await this.#tail.hashOf(block)) === hash) return block;
    }
    return this.#options.startBlock - 1;
  }

  async #rollBackTo(block: number): Promise<void> {
    const { write, projections, vaults } = this.#options;
    // Where the rows are undone and not read again, the next run takes everything up from them.
    const started = this.#started;
    this.#started = false;
    await write(async (trx) => {
      const own = trx as unknown as Transaction<IndexerTables>;
      for (const projection of projections) await projection.rollback(trx, block);
      const gone = await vaults.rollback(own, block);
      if (gone.length > 0) {
        for (const projection of projections) await projection.forget?.(trx, gone);
      }
      await dropCheckpointsAbove(own, block);
      await beginEpoch(own);
    });
    this.#cursor = await latestCheckpoint(this.#ownDb());
    this.#overlap.undone(this.height);
    await vaults.load(this.#ownDb());
    this.#started = started;
    this.#generation += 1;
  }

  async #write(steps: readonly Step<DB>[]): Promise<void> {
    const { write, vaults } = this.#options;
    const from = this.#cursor;
    const news = steps.filter(({ to, told }) => to > (from?.block ?? 0) || told.count > 0);
    const prepared = await Promise.all(news.map(({ rows }) => rows));
    if (news.length === 0) return;
    let cursor = from;
    await write(async (trx) => {
      const own = trx as unknown as Transaction<IndexerTables>;
      for (const { to, hash, told, discovered } of news) {
        await vaults.apply(own, told.logs);
        if (discovered) {
          await vaults.load(own);
          await beginEpoch(own);
        }
        if (to <= (cursor?.block ?? 0)) continue;
        cursor = { block: to, hash };
        await writeCheckpoint(own, cursor);
      }
      for (const rows of allOf(prepared)) await rows.write(trx);
    });
    this.#cursor = cursor;
    if (news.some(({ discovered }) => discovered)) this.#ranges.forgetHistory();
    if (news.some(({ told }) => told.count > 0)) this.#generation += 1;
  }
}
