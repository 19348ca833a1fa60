/** Lets the same thing be said once per interval, and only so many different things: a hostile source cannot flood. */
export class Throttle {
  readonly #intervalMs: number;
  readonly #capacity: number;
  readonly #now: () => number;
  readonly #said = new Map<string, number>();

  constructor(intervalMs: number, capacity: number, now: () => number = Date.now) {
    this.#intervalMs = intervalMs;
    this.#capacity = capacity;
    this.#now = now;
  }

  /** True when `key` was not let through within the interval and there is room for it. */
  lets(key: string): boolean {
    const at = this.#now();
    const last = this.#said.get(key);
    if (last !== undefined && at - last < this.#intervalMs) return false;
    if (last === undefined && this.#said.size >= this.#capacity) {
      for (const [old, saidAt] of this.#said) {
        if (at - saidAt >= this.#intervalMs) this.#said.delete(old);
      }
      if (this.#said.size >= this.#capacity) return false;
    }
    this.#said.set(key, at);
    return true;
  }
}
