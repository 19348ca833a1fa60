/**
 * Which of several RPC endpoints to ask: what each one's answers, silences and heads say about it. Pure but for the
 * clock; the read client and the sender both keep one of these per endpoint.
 */

/** Why an endpoint gave no answer. */
export type Trouble =
  /** It asks for a pause. */
  | { tag: 'rate_limited'; retryAfterMs: number | null }
  /** A broken connection, a gateway's fault. */
  | { tag: 'fault' }
  /** It took the call and said nothing in time: every further call would pay that time again. */
  | { tag: 'late' };

const LONGEST_PAUSE_MS = 10_000;
/** Others are preferred for so long after an endpoint was seen behind them. */
const BEHIND_MS = 10_000;

/**
 * One endpoint. A pause grows with each trouble in a row, up to ten seconds; after it the endpoint is `doubtful` until
 * it has answered once, which a probe finds out, not somebody's call.
 */
export class EndpointHealth {
  readonly #clock: () => number;
  #failures = 0;
  #pausedUntil = 0;
  #behindUntil = 0;
  #doubtful = false;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get paused(): boolean {
    return this.#clock() < this.#pausedUntil;
  }

  /** Its pause is over and it has not answered since. */
  get doubtful(): boolean {
    return this.#doubtful && !this.paused;
  }

  /** It answers from the past. */
  get behind(): boolean {
    return this.#clock() < this.#behindUntil;
  }

  /** It answers, and not from the past. */
  get well(): boolean {
    return !this.paused && !this.#doubtful && !this.behind;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#doubtful = false;
  }

  failed(trouble: Trouble): void {
    const before = this.#failures;
    this.#failures += 1;
    switch (trouble.tag) {
      case 'rate_limited':
        return this.#pause(Math.max(trouble.retryAfterMs ?? 0, 250 * 2 ** Math.min(before, 6)));
      case 'late':
        return this.#pause(1_000 * 2 ** Math.min(before, 4));
      case 'fault':
        // The first fault may be one broken connection; a pause begins with the second.
        if (before > 0) this.#pause(125 * 2 ** Math.min(before, 4));
        return;
    }
    return trouble satisfies never;
  }

  /** Others are asked first for a while. */
  demote(): void {
    this.#behindUntil = this.#clock() + BEHIND_MS;
  }

  #pause(ms: number): void {
    this.#doubtful = true;
    this.#pausedUntil = this.#clock() + Math.min(ms, LONGEST_PAUSE_MS);
  }
}

/** A head as an endpoint has shown it; `seconds`: the block's own time in unix seconds, null when it was not told. */
export type SeenHead = { number: number; seconds: number | null };

/** Shown by an endpoint longer ago, a head says nothing about the chain: it may have been reorganised. */
const HEAD_MEMORY_MS = 15_000;
/** Heads shown within this time of each other may be compared by their numbers. */
const SAME_MOMENT_MS = 500;
/** Both at once are more than the ordinary lag of a replica, at a quarter of a second a block and at a tenth. */
const TOLERATED_BLOCKS = 3;
const TOLERATED_SECONDS = 2;
/** A height that another endpoint has shown so long ago must be there by now. */
const TOLERATED_MS = 3_000;

type Shown = SeenHead & { at: number; since: number };

/** The heads of all endpoints, as their answers show them. */
export class Heads {
  readonly #shown = new Map<number, Shown>();
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Milliseconds since the endpoint last showed a head. */
  age(endpoint: number): number {
    const shown = this.#shown.get(endpoint);
    return shown === undefined ? Number.POSITIVE_INFINITY : this.#clock() - shown.at;
  }

  /** The head that the endpoint has shown last, however long ago; -1: none. */
  lastOf(endpoint: number): number {
    return this.#shown.get(endpoint)?.number ?? -1;
  }

  /** Takes note of a head; returns the endpoints that are seen to be behind another one now. */
  saw(endpoint: number, head: SeenHead): number[] {
    const now = this.#clock();
    const before = this.#shown.get(endpoint);
    const since = before?.number === head.number ? before.since : now;
    this.#shown.set(endpoint, { ...head, at: now, since });
    const known = [...this.#shown].filter(([, { at }]) => now - at <= HEAD_MEMORY_MS);
    return known
      .filter(([, own]) => now - own.at <= SAME_MOMENT_MS)
      .filter(([index, own]) => known.some(([other, its]) => other !== index && lags(own, its)))
      .map(([index]) => index);
  }
}

/** What one endpoint shows now against what another has shown, now or before. */
function lags(own: Shown, other: Shown): boolean {
  const blocks = other.number - own.number;
  if (blocks <= 0) return false;
  if (own.at - other.since >= TOLERATED_MS) return true;
  if (blocks <= TOLERATED_BLOCKS || own.seconds === null || other.seconds === null) return false;
  return other.seconds - own.seconds >= TOLERATED_SECONDS;
}
