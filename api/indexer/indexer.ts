/**
 * Reads logs into the store. What must hold:
 * 1. Rows are those of a fresh sync of the same chain, whatever reorgs, restarts and refusals came between.
 * 2. A step is one store transaction: rows and cursor move together.
 * 3. Nothing is undone because a node does not know a block: only because it has another block at that height.
 * 4. A node that lags answers without its newest logs: the last blocks are read again in every step.
 */
import type { Kysely, Transaction } from 'kysely';
import { BlockNotFoundError, type Hex, type PublicClient } from 'viem';
import type { Logger } from '../../runtime/logger.ts';
import type { ReadinessResult } from '../../runtime/readiness.ts';
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
import type { IndexedLog, Projection } from './projection.ts';
import { afterRefusal, afterSuccess, initialRange, type RangePolicy } from './ranges.ts';
import { readLogs, saysNothingOfTheRange } from './read-logs.ts';

export type IndexerOptions<DB extends CheckpointTables> = {
  client: PublicClient;
  db: Kysely<DB>;
  projections: readonly Projection<DB>[];
  logger: Logger;
  /** Called with every head that a node shows. */
  onHead: (block: number) => void;
  /** First block that can hold a log of ours. */
  startBlock: number;
  /** Names the deployment; rows of another one are dropped at the start. */
  identity: string;
  maxRange: number;
  /** Blocks read again in every step. */
  overlap: number;
  /** Behind the head by more than this is not ready. */
  maxLagMs: number;
};

type Head = { block: number; hash: Hex };

const FORK_SEARCH = 500;

export class Indexer<DB extends CheckpointTables> {
  readonly #options: IndexerOptions<DB>;
  #range: RangePolicy;
  #cursor: Checkpoint | null = null;
  #head = 0;
  #started = false;
  #caughtUpAt = 0;
  #generation = 0;

  constructor(options: IndexerOptions<DB>) {
    this.#options = options;
    this.#range = initialRange(options.maxRange);
  }

  /** Counts up whenever rows may have changed. */
  get generation(): number {
    return this.#generation;
  }

  /** True once the head was reached in this process. */
  get caughtUp(): boolean {
    return this.#caughtUpAt > 0;
  }

  get lagBlocks(): number {
    return Math.max(this.#head - (this.#cursor?.block ?? this.#options.startBlock - 1), 0);
  }

  readiness(): ReadinessResult {
    if (!this.caughtUp) {
      return { ok: false, reason: `the order index is ${this.lagBlocks} blocks behind` };
    }
    const late = Date.now() - this.#caughtUpAt;
    return late <= this.#options.maxLagMs
      ? { ok: true }
      : {
          ok: false,
          reason: `the order index last reached the head ${Math.round(late / 1_000)} s ago`,
        };
  }

  /** Reads up to the head. The loop calls it. @throws when the chain or the store does not answer. */
  async sync(): Promise<void> {
    if (!this.#started) await this.#open();
    const head = await this.#headNow();
    this.#head = head.block;
    this.#options.onHead(head.block);
    if (!(await this.#undoReorg(head))) return;
    const { overlap, startBlock } = this.#options;
    const next = (this.#cursor?.block ?? startBlock - 1) + 1;
    let position = Math.max(next - overlap, startBlock);
    while (position <= head.block) position = await this.#step(position, head);
    if (this.#cursor !== null && this.#cursor.block === head.block) this.#caughtUpAt = Date.now();
  }

  #checkpointDb(): Kysely<CheckpointTables> {
    return this.#options.db as unknown as Kysely<CheckpointTables>;
  }

  async #open(): Promise<void> {
    const db = this.#checkpointDb();
    const { identity, logger, startBlock } = this.#options;
    const stored = await readIdentity(db);
    if (stored !== null && stored !== identity) {
      logger.warn('the rows are of another deployment: they are dropped and read again');
      await this.#rollBackTo(startBlock - 1);
    }
    if (stored !== identity) await writeIdentity(db, identity);
    this.#cursor = await latestCheckpoint(db);
    this.#started = true;
  }

  async #headNow(): Promise<Head> {
    const head = await this.#options.client.getBlock({ blockTag: 'latest' });
    return { block: Number(head.number), hash: head.hash };
  }

  /** The hash at a height; null when the node has no such block (yet). */
  async #hashAt(block: number): Promise<Hex | null> {
    try {
      return (await this.#options.client.getBlock({ blockNumber: BigInt(block) })).hash;
    } catch (error) {
      if (error instanceof BlockNotFoundError) return null;
      throw error;
    }
  }

  /** False when this node cannot tell yet whether our cursor is on its chain: wait. */
  async #undoReorg(head: Head): Promise<boolean> {
    const cursor = this.#cursor;
    if (cursor === null) return true;
    const here = cursor.block === head.block ? head.hash : await this.#hashAt(cursor.block);
    if (here === null) return false;
    if (here === cursor.hash) return true;
    const ancestor = await this.#commonAncestor(cursor.block);
    this.#options.logger.warn(
      { from: cursor.block, to: ancestor },
      'the chain was reorganised: rows above the common ancestor are undone and read again',
    );
    await this.#rollBackTo(ancestor);
    return true;
  }

  async #commonAncestor(below: number): Promise<number> {
    const known = await checkpointsBelow(this.#checkpointDb(), below, FORK_SEARCH);
    for (const { block, hash } of known) {
      if ((await this.#hashAt(block)) === hash) return block;
    }
    return this.#options.startBlock - 1;
  }

  async #rollBackTo(block: number): Promise<void> {
    await this.#options.db.transaction().execute(async (trx) => {
      for (const projection of this.#options.projections) await projection.rollback(trx, block);
      await dropCheckpointsAbove(trx as unknown as Transaction<CheckpointTables>, block);
    });
    this.#cursor = await latestCheckpoint(this.#checkpointDb());
    this.#generation += 1;
  }

  /** One range from `from` on; returns where the next one starts. */
  async #step(from: number, head: Head): Promise<number> {
    const { maxRange, db, projections } = this.#options;
    const to = Math.min(from + this.#range.size - 1, head.block);
    const logs = await this.#logs(from, to);
    if (logs === null) return from;
    this.#range = afterSuccess(this.#range, maxRange);
    const hash = await this.#hashAt(to);
    // The chain moved under the read: the next run sees the reorg and starts from a sound place.
    if (hash === null || (to === head.block && hash !== head.hash)) {
      throw new Error(`block ${to} changed while its logs were read`);
    }
    const advances = to > (this.#cursor?.block ?? 0);
    await db.transaction().execute(async (trx) => {
      for (const projection of projections) {
        const wanted = logs.filter((log) => isFor(projection, log));
        if (wanted.length > 0) await projection.apply(trx, wanted);
      }
      if (advances) {
        await writeCheckpoint(trx as unknown as Transaction<CheckpointTables>, { block: to, hash });
      }
    });
    if (advances) this.#cursor = { block: to, hash };
    if (logs.length > 0) this.#generation += 1;
    return to + 1;
  }

  /** Null when the node refused the range and the policy has shrunk it. */
  async #logs(from: number, to: number): Promise<IndexedLog[] | null> {
    const { client, projections, logger } = this.#options;
    const filter = {
      addresses: [...new Set(projections.flatMap(({ addresses }) => addresses))],
      topics: [...new Set(projections.flatMap(({ topics }) => topics))],
    };
    try {
      return await readLogs(client, filter, from, to);
    } catch (error) {
      const asked = to - from + 1;
      if (asked <= 1 || saysNothingOfTheRange(error)) throw error;
      this.#range = afterRefusal(this.#range, asked);
      logger.debug(
        { err: error, asked, next: this.#range.size },
        'the node refused a range of logs',
      );
      return null;
    }
  }
}

function isFor<DB>(projection: Projection<DB>, log: IndexedLog): boolean {
  const [topic] = log.topics;
  return (
    topic !== undefined &&
    projection.topics.includes(topic) &&
    projection.addresses.some((address) => address.toLowerCase() === log.address.toLowerCase())
  );
}
