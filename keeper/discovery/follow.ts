/**
 * Follows the events of the escrows and of the cover market. What lies some blocks back is applied once and kept in the
 * store; the newest blocks are read anew each time, so that a reorg or a node that lags behind corrects itself. A chain
 * that is another one further back is noticed by the hash of the kept block, and everything is read again.
 */
import type { Kysely } from 'kysely';
import {
  type Abi,
  type AbiEvent,
  getAbiItem,
  type Hex,
  type PublicClient,
  toEventSelector,
  toHex,
} from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import {
  coverMarketAbi,
  exitEscrowAbi,
  limitEscrowAbi,
  scheduleEscrowAbi,
} from '../../contracts-abi/generated/index.ts';
import { LogReader } from '../../runtime/chain/log-reader.ts';
import type { IndexedLog, LogFilter } from '../../runtime/chain/read-logs.ts';
import type { Logger } from '../../runtime/logger.ts';
import { applyLogs, Book } from './book.ts';
import { Checkpoints, type Kept } from './checkpoint.ts';
import type { DiscoveryTables } from './tables.ts';

/**
 * Newest blocks that are read anew each time; fewer where the node takes no such range. At four blocks a second they
 * last longer than KEEP_EVERY_MS: what a reorg of more blocks undoes, the hash of the kept block tells.
 */
const OVERLAP = 256;
const MAX_RANGE = 10_000;
/** How often what was read is kept, and the chain is asked whether it still has the kept block. */
const KEEP_EVERY_MS = 60_000;

export type FollowOptions = {
  client: PublicClient;
  deployment: Deployment;
  db: Kysely<DiscoveryTables>;
  /** Whether what was read is kept in the store; default true. */
  keeps?: boolean;
  logger: Logger;
  /** Items that are held in memory and in the store. */
  most: number;
  now: () => number;
};

export class Follower {
  readonly #options: FollowOptions;
  readonly #reader: LogReader;
  readonly #checkpoints: Checkpoints;
  readonly #filter: LogFilter;
  /** What the blocks up to `#applied` leave open. */
  #kept: Book;
  #applied: number;
  /** Logs above `#applied`, as read last. */
  #recent: IndexedLog[] = [];
  #current: Book;
  /** In the store; null before anything is. */
  #stored: Kept | null = null;
  #loaded = false;
  #keptMs: number | null = null;

  constructor(options: FollowOptions) {
    this.#options = options;
    const { client, logger, deployment, most, db } = options;
    this.#reader = new LogReader({ client, logger, maxRange: MAX_RANGE, times: false });
    this.#checkpoints = new Checkpoints(db, deployment, options.keeps ?? true);
    this.#filter = filterOf(deployment);
    this.#kept = new Book(most);
    this.#current = this.#kept;
    this.#applied = deployment.startBlock - 1;
  }

  /** What is open as far as the chain was read. */
  get book(): Book {
    return this.#current;
  }

  /** Blocks up to this one will not be read again. */
  get applied(): number {
    return this.#applied;
  }

  /** An item that the chain says is over; what a reorg brings back is read anew with its block. */
  forget(key: string): void {
    this.#kept.remove(key);
    this.#current.remove(key);
  }

  /**
   * Reads up to block `head`, or as far as `budgetMs` lasts: the next call goes on from there.
   * @returns whether it came to the head
   * @throws what the chain client and the store throw; what was read until then is not lost
   */
  async advance(head: number, budgetMs: number, signal: AbortSignal): Promise<boolean> {
    const { now } = this.#options;
    const endsAt = now() + budgetMs;
    if (!this.#loaded) await this.#load();
    if (this.#keptMs !== null && now() - this.#keptMs >= KEEP_EVERY_MS) await this.#keep();
    let position = this.#applied + 1;
    let recent: IndexedLog[] = [];
    while (position <= head) {
      if (signal.aborted || now() > endsAt) return false;
      const to = Math.min(position + this.#reader.range - 1, head);
      const logs = await this.#reader.read(this.#filter, position, to);
      if (logs === null) continue;
      recent = [...recent, ...logs];
      const settled = Math.min(to, head - Math.min(OVERLAP, this.#reader.range));
      if (settled > this.#applied) this.#apply(recent, settled);
      recent = recent.filter(({ block }) => block > this.#applied);
      this.#recent = recent;
      position = to + 1;
    }
    this.#current = this.#kept.copy();
    applyLogs(this.#current, this.#recent, this.#options.deployment);
    if (this.#keptMs === null) await this.#keep();
    return true;
  }

  #apply(logs: readonly IndexedLog[], upTo: number): void {
    const settled = logs.filter(({ block }) => block > this.#applied && block <= upTo);
    applyLogs(this.#kept, settled, this.#options.deployment);
    this.#applied = upTo;
    this.#current = this.#kept;
  }

  async #load(): Promise<void> {
    const { most, logger } = this.#options;
    const stored = await this.#checkpoints.load();
    if (stored !== null && (await this.#isOfThisChain(stored))) {
      this.#kept = new Book(most, stored.items);
      this.#current = this.#kept;
      this.#applied = stored.block;
      this.#stored = stored;
      this.#keptMs = this.#options.now();
      logger.info(
        { block: stored.block, open: this.#kept.size },
        'discovery goes on from the store',
      );
    } else if (stored !== null) {
      await this.#startAgain();
    }
    this.#loaded = true;
  }

  /** Writes what is applied, once the chain still has what was written before. */
  async #keep(): Promise<void> {
    const { client, now } = this.#options;
    if (this.#stored !== null && !(await this.#isOfThisChain(this.#stored))) {
      await this.#startAgain();
      return;
    }
    if (this.#applied > (this.#stored?.block ?? 0)) {
      const { hash } = await client.getBlock({ blockNumber: BigInt(this.#applied) });
      const kept: Kept = { block: this.#applied, hash };
      await this.#checkpoints.save(kept, this.#kept);
      this.#stored = kept;
    }
    this.#keptMs = now();
  }

  async #startAgain(): Promise<void> {
    const { deployment, logger, most } = this.#options;
    logger.warn('the chain is another one than discovery has read: it is read again');
    await this.#checkpoints.clear();
    this.#stored = null;
    this.#kept = new Book(most);
    this.#current = this.#kept;
    this.#recent = [];
    this.#applied = deployment.startBlock - 1;
    this.#keptMs = null;
  }

  /** A node that does not have the block (yet) says nothing against it. */
  async #isOfThisChain({ block, hash }: Kept): Promise<boolean> {
    const number: Hex = toHex(block);
    const header = await this.#options.client.request({
      method: 'eth_getBlockByNumber',
      params: [number, false],
    });
    return header === null || header.hash === null || header.hash === hash;
  }
}

function filterOf(deployment: Deployment): LogFilter {
  const topic = (abi: Abi, name: string): Hex =>
    toEventSelector(getAbiItem({ abi, name }) as AbiEvent);
  const { exitEscrow, limitEscrow, scheduleEscrow, coverMarket } = deployment;
  return {
    addresses: [exitEscrow, limitEscrow, scheduleEscrow, coverMarket],
    topics: [
      topic(exitEscrowAbi, 'ExitCreated'),
      // The ends are the same events in all three escrows.
      topic(exitEscrowAbi, 'OrderFilled'),
      topic(exitEscrowAbi, 'OrderCancelled'),
      topic(exitEscrowAbi, 'OrderExpired'),
      topic(limitEscrowAbi, 'LimitCreated'),
      topic(scheduleEscrowAbi, 'ScheduleCreated'),
      topic(scheduleEscrowAbi, 'SlotFilled'),
      topic(coverMarketAbi, 'CoverSold'),
      topic(coverMarketAbi, 'PaidOut'),
    ],
  };
}
