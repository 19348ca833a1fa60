/** One call under way over several endpoints: who is being asked for it, and who is next. */
import type { EndpointHealth, Trouble } from './endpoint-health.ts';
import type { Verdict } from './endpoint-verdict.ts';

export type ReadCall = { method: string; params?: unknown };

export type Attempted = {
  health: EndpointHealth;
  /** Ends early when the signal is aborted. */
  ask: (call: ReadCall, signal: AbortSignal) => Promise<unknown>;
  failed: (trouble: Trouble, method: string) => void;
  /** Left alone for a while, as far as calls of this method go. */
  pausedFor: (method: string) => boolean;
};

export type AttemptOptions<E extends Attempted> = {
  /** Longest that the call takes, over all endpoints. */
  timeoutMs: number;
  /** Where one is silent for so long, the next is asked too. */
  patienceMs: number;
  /** Takes note of what a failure says of the endpoint. */
  judge: (endpoint: E, error: unknown) => Verdict;
  /** Takes note of what the answer says of the endpoint; false: that it is not to be believed. */
  onAnswer: (endpoint: E, result: unknown) => boolean;
  /** Whether the answer says no more than that this endpoint does not have it: it counts where nobody says more. */
  isAbsence: (result: unknown) => boolean;
  /** Whether no endpoint answers this call from the past, however far behind it is. */
  isOfNow: (call: ReadCall) => boolean;
  lateError: () => Error;
  /** How much a failure says: one that says more is thrown before one that says less. */
  weightOf: (error: unknown) => Weight;
};

/** Of the connection alone, or of this endpoint; that too much was asked of it; something of the call itself. */
export type Weight = 0 | 1 | 2;

/** Before all of them are asked once more. */
const AGAIN_AFTER_MS = 100;

/**
 * Asks the endpoints in this order, the next one when one fails or is silent; the first answer counts.
 * An answer counts before an absence, and that before what others throw.
 * @throws a refusal before a fault; `lateError` at the deadline where there is neither
 */
export async function attempt<E extends Attempted>(
  call: ReadCall,
  order: readonly E[],
  options: AttemptOptions<E>,
): Promise<unknown> {
  const attempts = new Attempts(call, order, options);
  try {
    return await attempts.run();
  } finally {
    attempts.end();
  }
}

class Attempts<E extends Attempted> {
  readonly #call: ReadCall;
  readonly #order: readonly E[];
  readonly #options: AttemptOptions<E>;
  #queue: E[];
  /** Being asked, with the moment of asking. */
  readonly #open = new Map<E, number>();
  readonly #ending = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  #refusal: { error: unknown } | null = null;
  #absence: { result: unknown } | null = null;
  #fault: unknown = null;
  #isRepeat = false;
  #isLate = false;
  #resolve: (result: unknown) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(call: ReadCall, order: readonly E[], options: AttemptOptions<E>) {
    this.#call = call;
    this.#order = order;
    this.#options = options;
    this.#queue = [...order];
  }

  run(): Promise<unknown> {
    const { timeoutMs, lateError } = this.#options;
    this.#after(timeoutMs / 2, () => {
      this.#isLate = true;
    });
    this.#after(timeoutMs, () => {
      for (const endpoint of this.#open.keys()) endpoint.failed({ tag: 'late' }, this.#call.method);
      if (this.#absence !== null) this.#resolve(this.#absence.result);
      else this.#reject(this.#refusal === null ? lateError() : this.#atLast(this.#refusal.error));
    });
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#next();
    });
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#ending.abort();
  }

  #after(ms: number, then: () => void): void {
    this.#timers.add(setTimeout(then, ms));
  }

  /** After a failure, or an absence. */
  #next(): void {
    // What one refuses or does not have must not be answered from the past, nor waited for where nobody answers.
    if (this.#refusal !== null || this.#absence !== null) {
      const { method } = this.#call;
      // Where one can answer no such call at all, those are asked that are left alone for theirs.
      const isLast = this.#refusal !== null && this.#weight(this.#refusal.error) === 0;
      this.#queue = this.#queue.filter(
        (one) => this.#mayAnswer(one) && (isLast || !one.pausedFor(method)),
      );
    }
    const next = this.#queue.shift();
    if (next !== undefined) return this.#ask(next);
    if (this.#open.size > 0) return;
    if (this.#absence !== null) return this.#resolve(this.#absence.result);
    if (this.#refusal !== null) return this.#reject(this.#worst(this.#refusal.error));
    if (this.#isRepeat) return this.#reject(this.#fault);
    // One broken connection proves nothing: each of them once more.
    this.#isRepeat = true;
    this.#queue = [...this.#order];
    this.#after(AGAIN_AFTER_MS, () => this.#next());
  }

  /** Whether what it says counts for more than a refusal or an absence. */
  #mayAnswer({ health }: E): boolean {
    if (!this.#options.isOfNow(this.#call)) return health.well;
    return !health.paused && !health.doubtful;
  }

  /**
   * Nobody has failed, but nobody has answered either. A slow answer is better than one from the past, until half of
   * the time is gone.
   */
  #hasten(): void {
    const next = this.#queue.find(
      (one) => !one.pausedFor(this.#call.method) && (!one.health.behind || this.#isLate),
    );
    if (next === undefined) {
      if (this.#queue.length > 0) this.#after(this.#options.patienceMs, () => this.#hasten());
      return;
    }
    this.#queue = this.#queue.filter((endpoint) => endpoint !== next);
    this.#ask(next);
  }

  #ask(endpoint: E): void {
    this.#open.set(endpoint, performance.now());
    this.#after(this.#options.patienceMs, () => {
      if (this.#open.has(endpoint)) this.#hasten();
    });
    endpoint.ask(this.#call, this.#ending.signal).then(
      (result) => this.#answered(endpoint, result),
      (error: unknown) => this.#failed(endpoint, error),
    );
  }

  #answered(endpoint: E, result: unknown): void {
    if (this.#ending.signal.aborted) return;
    this.#open.delete(endpoint);
    this.#blameSilent();
    const isBelieved = this.#options.onAnswer(endpoint, result);
    if (!this.#options.isAbsence(result)) return this.#resolve(result);
    this.#absence ??= { result };
    if (isBelieved) this.#after(this.#options.patienceMs, () => this.#resolve(result));
    this.#next();
  }

  #failed(endpoint: E, error: unknown): void {
    if (this.#ending.signal.aborted) return;
    this.#open.delete(endpoint);
    const { tag } = this.#options.judge(endpoint, error);
    if (tag === 'reverted') {
      this.#blameSilent();
      return this.#reject(error);
    }
    if (tag === 'refused') {
      const before = this.#refusal;
      if (before === null || this.#weight(error) > this.#weight(before.error)) {
        this.#refusal = { error };
      }
    } else if (this.#fault === null || this.#weight(error) >= this.#weight(this.#fault)) {
      this.#fault = error;
    }
    this.#next();
  }

  /** A refusal, but that a fault which says more goes before it. */
  #worst(refusal: unknown): unknown {
    const hides = this.#fault !== null && this.#weight(this.#fault) > this.#weight(refusal);
    return hides ? this.#fault : refusal;
  }

  /** At the deadline: that one can answer no such call hides neither a fault nor the silence of another. */
  #atLast(refusal: unknown): unknown {
    const worst = this.#worst(refusal);
    return this.#open.size > 0 && this.#weight(worst) === 0 ? this.#options.lateError() : worst;
  }

  #weight(fault: unknown): Weight {
    return this.#options.weightOf(fault);
  }

  /** Others had to be asked because of them. */
  #blameSilent(): void {
    for (const [endpoint, since] of this.#open) {
      const ms = performance.now() - since;
      if (ms >= this.#options.patienceMs * 0.9) endpoint.failed({ tag: 'late' }, this.#call.method);
    }
  }
}
