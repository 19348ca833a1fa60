/**
 * A node that lags answers without its newest logs: which blocks a run of the index reads again because of it. What must
 * hold: a block counts as read for good only once it was read under a head that is `blocks` further on, by a run that
 * had read everything before it, and what does not count is read again.
 */

/** Rows are never further ahead of what counts than so many times `blocks`: a process that starts knows no better. */
export const MOST_AHEAD = 4;
/** What rows are taken up from may have been read with a larger overlap: the default one at the least. */
const LEAST_TAKEN_UP = 200;

export class Overlap {
  readonly #blocks: number;
  readonly #startBlock: number;
  readonly #leastTakenUp: number;
  /** Up to this block everything counts. */
  #sure: number;
  /** Up to before this block the last run has come, which failed; null: it came through. */
  #broken: number | null = null;
  /** Whether this run goes on with one that failed: it leaves out what does not count yet, and nothing of it counts. */
  #skips = false;

  /**
   * @param blocks read again in every run: by so many a node may lag behind the head that it shows.
   * @param startBlock the first that is ever read.
   * @param leastTakenUp so many blocks of rows do not count that were read before this process.
   */
  constructor(blocks: number, startBlock: number, leastTakenUp = LEAST_TAKEN_UP) {
    this.#blocks = blocks;
    this.#leastTakenUp = leastTakenUp;
    this.#startBlock = startBlock;
    this.#sure = startBlock - 1;
  }

  /** The rows may be another process's: nothing is known of how they were read. */
  forget(): void {
    this.#sure = this.#startBlock - 1;
    this.#broken = null;
  }

  /** The next run goes on with what the rows hold. @param cursor their last block */
  takeUp(cursor: number): void {
    const least = cursor - Math.max(MOST_AHEAD * this.#blocks, this.#leastTakenUp);
    this.#sure = Math.max(Math.min(this.#sure, cursor), least);
    this.#broken = null;
  }

  /** The rows were undone. @param cursor their last block now */
  undone(cursor: number): void {
    this.#sure = Math.min(this.#sure, cursor);
    this.#broken = null;
  }

  /**
   * Where the next run begins. It goes on with one that failed, so that a node of which each run gets little is caught
   * up with all the same, unless the rows could come too far ahead of what counts: then that is made up for first.
   * @param next the first block that the rows do not hold
   * @param head what the run can come to
   */
  startOf(next: number, head: number): number {
    const whole = Math.min(this.#sure + 1, next);
    const isFar = head > this.#sure + MOST_AHEAD * this.#blocks;
    // A head may have gone back to before where it broke.
    const broken = isFar || (this.#broken ?? 0) > head ? null : this.#broken;
    this.#skips = broken !== null && broken > whole;
    return Math.max(this.#skips ? (broken ?? whole) : whole, this.#startBlock);
  }

  /** The run has read everything before `block`. @param head under which it did */
  readTo(block: number, head: number): void {
    this.#broken = block;
    if (!this.#skips) this.#sure = Math.max(this.#sure, Math.min(block - 1, head - this.#blocks));
  }

  /** The run has come to its end. */
  through(): void {
    this.#broken = null;
  }
}
