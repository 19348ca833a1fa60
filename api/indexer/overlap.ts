/** A node that lags answers without its newest logs: which blocks a run of the index reads again because of it. */
import { steadyNow } from '../../runtime/clock.ts';

/** For so long what a failed run has read again counts; a chain grows by less than is read again at the most. */
const COUNTS_MS = 30_000;
/** So much is read again at the most. */
const MOST_OVERLAPS = 4;

/**
 * Every run reads the last blocks again. Where it fails on the way, those after it go on with what it had not read, so
 * that a node of which each run gets little is caught up with all the same; once one comes through, the next reads
 * again what was left out, since the node may have lagged all that time.
 */
export class Overlap {
  readonly #blocks: number;
  readonly #startBlock: number;
  /** Up to before this block a run that failed then has read again what the rows hold; null: none has. */
  #done: number | null = null;
  #doneAt = 0;
  /** From this block on is to be read again what was not because of that; whether this run leaves it out as well. */
  #owed: number | null = null;
  #skips = false;

  /**
   * @param blocks read again in every run.
   * @param startBlock the first that is ever read.
   */
  constructor(blocks: number, startBlock: number) {
    this.#blocks = blocks;
    this.#startBlock = startBlock;
  }

  /** Where a run begins whose first new block is `next`. */
  startOf(next: number): number {
    const whole = Math.min(next - this.#blocks, this.#owed ?? next);
    const done = steadyNow() - this.#doneAt > COUNTS_MS ? null : this.#done;
    this.#owed = whole;
    this.#skips = done !== null;
    const from = done ?? next - MOST_OVERLAPS * this.#blocks;
    return Math.max(whole, from, this.#startBlock);
  }

  /** The run has read everything before `block`; the rows have grown by it, or held all of that before. */
  readTo(block: number, grown: boolean): void {
    if (grown) return this.through();
    this.#done = block;
    this.#doneAt = steadyNow();
  }

  /** The run has read all that the rows hold. */
  through(): void {
    this.#done = null;
    if (!this.#skips) this.#owed = null;
  }

  /** The rows were undone, or are another process's. */
  forget(): void {
    this.#done = this.#owed = null;
  }
}
