/** Callers that wait for a state of an intent: each with a deadline, all of them together bounded. */
import { type Entry, isFinal } from './entry.ts';

type Waiter = { reached: (entry: Entry) => boolean; wake: () => void };

const MOST_WAITERS = 20_000;

export class Waits {
  readonly #waiters = new Map<string, Set<Waiter>>();
  #count = 0;
  #ended = false;

  /** Wakes whoever waits for this. */
  notify(entry: Entry): void {
    const waiting = this.#waiters.get(entry.key);
    if (!waiting) return;
    for (const waiter of waiting) {
      if (waiter.reached(entry) || isFinal(entry)) waiter.wake();
    }
  }

  /** Resolves when a notified entry satisfies `reached`, becomes final, or the time has passed. */
  async until(key: string, reached: (entry: Entry) => boolean, timeoutMs: number): Promise<void> {
    // Past the bound a caller is answered at once with what holds now.
    if (timeoutMs <= 0 || this.#ended || this.#count >= MOST_WAITERS) return;
    await new Promise<void>((resolve) => {
      const waiting = this.#waiters.get(key) ?? new Set<Waiter>();
      this.#waiters.set(key, waiting);
      const wake = (): void => {
        if (!waiting.delete(waiter)) return;
        this.#count -= 1;
        if (waiting.size === 0) this.#waiters.delete(key);
        clearTimeout(timer);
        resolve();
      };
      const waiter: Waiter = { reached, wake };
      const timer = setTimeout(wake, timeoutMs);
      waiting.add(waiter);
      this.#count += 1;
    });
  }

  /** Wakes everybody who waits for this key. */
  release(key: string): void {
    for (const waiter of this.#waiters.get(key) ?? []) waiter.wake();
  }

  /** What somebody waits for. */
  keys(): string[] {
    return [...this.#waiters.keys()];
  }

  /** Wakes everybody, now and from now on. */
  end(): void {
    this.#ended = true;
    for (const waiting of this.#waiters.values()) {
      for (const waiter of waiting) waiter.wake();
    }
  }
}
