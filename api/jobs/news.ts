/** Wakes whoever waits for the chain to be read anew. */
export class News {
  readonly #waiting = new Set<() => void>();
  #isOver = false;
  #told = 0;

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** How often it was told. */
  get told(): number {
    return this.#told;
  }

  /** Something may have changed. */
  tell(): void {
    this.#told += 1;
    for (const wake of this.#waiting) wake();
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
  async beyond(told: number, ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isOver || this.#told > told || ms <= 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }
}
