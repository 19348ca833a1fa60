/** So many wait at most: another one takes the place of whoever has had his for longest. */
const MOST_WAITING = 256;

/** How a wait ended: told of something, or at its time; or by another one who took its place. */
export type Waited = 'over' | 'pushed_out';

/** Wakes whoever waits for the chain to be read anew. */
export class News {
  /** The oldest first. */
  readonly #waiting = new Set<(how: Waited) => void>();
  readonly #onWaiting: (count: number) => void;
  #isOver = false;
  #told = 0;

  /** @param onWaiting told how many wait, when that changes */
  constructor(onWaiting: (count: number) => void) {
    this.#onWaiting = onWaiting;
  }

  /** How often it was told. */
  get told(): number {
    return this.#told;
  }

  /** Something may have changed. */
  tell(): void {
    this.#told += 1;
    for (const wake of this.#waiting) wake('over');
  }

  /** For good: nobody waits from now on. */
  end(): void {
    this.#isOver = true;
    this.tell();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Until it was told more often than `told`, `ms` at most; the signal ends it too. */
  async beyond(told: number, ms: number, signal: AbortSignal): Promise<Waited> {
    if (this.#isOver || this.#told > told || ms <= 0 || signal.aborted) return 'over';
    for (const oldest of this.#waiting) {
      if (this.#waiting.size < MOST_WAITING) break;
      oldest('pushed_out');
    }
    return await new Promise<Waited>((resolve) => {
      const done = (how: Waited): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', ended);
        this.#waiting.delete(done);
        this.#onWaiting(this.#waiting.size);
        resolve(how);
      };
      const ended = (): void => done('over');
      const timer = setTimeout(ended, ms);
      this.#waiting.add(done);
      this.#onWaiting(this.#waiting.size);
      signal.addEventListener('abort', ended, { once: true });
    });
  }
}
