/**
 * A fixed window per client, counted in memory: what each request costs is one look-up. Headers are those of
 * `draft-ietf-httpapi-ratelimit-headers-07`, as express-rate-limit writes them.
 */
export type RateState = {
  exceeded: boolean;
  remaining: number;
  /** Whole seconds until the window ends, rounded up: what Retry-After says. */
  resetSeconds: number;
};

const WINDOW_MS = 60_000;

type Window = { count: number; endsAt: number };

export class RateLimiter {
  readonly #limit: number;
  readonly #now: () => number;
  readonly #maxClients: number;
  readonly #windows = new Map<string, Window>();
  #sweepAt = 0;

  /**
   * @param limit requests per client and minute.
   * @param now milliseconds of a clock that never steps back.
   * @param maxClients clients remembered at once; beyond it the one seen first is forgotten.
   */
  constructor(limit: number, now: () => number = () => performance.now(), maxClients = 100_000) {
    this.#limit = limit;
    this.#now = now;
    this.#maxClients = maxClients;
  }

  /** Says the policy: so many requests per so many seconds. */
  get policy(): string {
    return `${this.#limit};w=${WINDOW_MS / 1_000}`;
  }

  /** Clients remembered now. */
  get clients(): number {
    return this.#windows.size;
  }

  /** Counts one request of the client. */
  take(key: string): RateState {
    const now = this.#now();
    this.#sweep(now);
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      this.#windows.delete(key);
      this.#makeRoom();
      window = { count: 0, endsAt: now + WINDOW_MS };
      this.#windows.set(key, window);
    }
    window.count += 1;
    return {
      exceeded: window.count > this.#limit,
      remaining: Math.max(0, this.#limit - window.count),
      resetSeconds: Math.ceil((window.endsAt - now) / 1_000),
    };
  }

  /** The RateLimit header of an answer. */
  headerOf(state: RateState): string {
    return `limit=${this.#limit}, remaining=${state.remaining}, reset=${state.resetSeconds}`;
  }

  #makeRoom(): void {
    if (this.#windows.size < this.#maxClients) return;
    const oldest = this.#windows.keys().next();
    if (oldest.done !== true) this.#windows.delete(oldest.value);
  }

  /** Once per window: clients that stayed away are forgotten. */
  #sweep(now: number): void {
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + WINDOW_MS;
    for (const [key, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(key);
  }
}
