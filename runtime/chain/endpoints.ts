/**
 * Reads over several RPC endpoints. What must hold:
 * 1. A call is answered within its deadline as long as one endpoint answers: where one is silent the next is asked long
 *    before the caller gives up, and the first answer counts.
 * 2. Nobody's call pays twice for the same trouble: an endpoint that was silent or broken is left alone for a while,
 *    and then tried by a probe.
 * 3. An endpoint that answers from the past is not asked while a fresher one answers, nor instead of one that refuses.
 *    Of logs none answers whose head is below their last block: it would leave out what it does not have.
 * 4. An endpoint of another chain answers nothing, nor one that lacks our contract: both are asked for before its first
 *    use and after each pause.
 * 5. Nothing runs by itself: endpoints are compared in the wake of calls, one call each in five seconds.
 */
import { steadyNow } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { blockAskedFor } from './answer-shape.ts';
import { type Attempted, attempt, type ReadCall, type Weight } from './attempts.ts';
import {
  anyServes,
  type ChainVerdict,
  EndpointChain,
  foreignLine,
  NOT_USED,
  type WantedChain,
} from './endpoint-chain.ts';
import { EndpointHealth, Heads, type SeenHead, type Trouble } from './endpoint-health.ts';
import type { Verdict } from './endpoint-verdict.ts';
import { NotThereYet, rangeOf } from './log-shape.ts';
import { quantityOf } from './quantity.ts';

export type ReadEndpoint = {
  /** Names it to an operator: no key in it. */
  name: string;
  /** @throws what {@link EndpointsOptions.verdictOf} can judge; ends early when the signal is aborted */
  ask: (call: ReadCall, signal: AbortSignal) => Promise<unknown>;
};

export type EndpointsOptions = {
  endpoints: readonly ReadEndpoint[];
  /** Longest that a call takes, over all endpoints. */
  timeoutMs: number;
  verdictOf: (error: unknown, method: string) => Verdict;
  /** How much a failure says: see attempts.ts; absent: each the same. */
  weightOf?: (error: unknown) => Weight;
  /** What a call throws that nobody answered in time. */
  lateError: (call: ReadCall) => Error;
  logger?: Logger | undefined;
  clock?: () => number;
  /** The one chain that is asked; absent: any. */
  chain?: WantedChain;
};

/** Patience with one endpoint until the next is asked too; less where all of them must fit into the deadline. */
const PATIENCE_MS = 1_000;
const COMPARE_EVERY_MS = 5_000;
/** Who has shown a head so lately need not be asked for it. */
const HEAD_KNOWN_MS = 200;
const PROBE_MS = 3_000;

/** Who lacks so few blocks of a range is waited for so long, and asked again every so often. */
const LACKING_BLOCKS = 20;
const LACKING_MS = 2_000;
const LACKING_EVERY_MS = 200;

const LOGS = 'eth_getLogs';
const LATE: Verdict = { tag: 'late' };
const LATEST: ReadCall = { method: 'eth_getBlockByNumber', params: ['latest', false] };

type Ask = ReadEndpoint['ask'];

class Endpoint implements Attempted {
  readonly index: number;
  readonly name: string;
  readonly ask: ReadEndpoint['ask'];
  readonly health: EndpointHealth;
  /**
   * Of its logs by themselves: a gateway may break their long answers and no others, and the head must not be read from
   * an endpoint that lags because of that.
   */
  readonly logs: EndpointHealth;
  readonly chain: EndpointChain;
  readonly #logger: Logger | undefined;
  #told = true;
  probing = false;

  /** @param logsOf how this one is asked for logs */
  constructor(
    index: number,
    { name, ask }: ReadEndpoint,
    options: EndpointsOptions,
    logsOf: (endpoint: Endpoint, call: ReadCall, signal: AbortSignal, ask: Ask) => Promise<unknown>,
  ) {
    this.index = index;
    this.name = name;
    this.chain = new EndpointChain(
      options.chain ?? null,
      // Whoever asked first may be gone: the others wait for the same answer.
      (call) => ask(call, AbortSignal.timeout(options.timeoutMs)),
      (told) => {
        const [fields, message] = foreignLine(told);
        options.logger?.error({ endpoint: name, ...fields }, message);
      },
    );
    this.ask = async (call, signal) => {
      const belongs = await this.chain.check();
      if (belongs !== 'right') throw new Error(`${name} ${NOT_USED[belongs]}`);
      if (call.method === LOGS) return await logsOf(this, call, signal, ask);
      return await ask(call, signal);
    };
    const clock = options.clock ?? steadyNow;
    this.health = new EndpointHealth(clock);
    this.logs = new EndpointHealth(clock);
    this.#logger = options.logger;
  }

  answered(method: string): void {
    this.health.succeeded();
    if (method === LOGS) this.logs.succeeded();
    if (this.health.well && this.logs.well) this.#tell(true, 'an RPC endpoint is in use again', {});
  }

  failed(trouble: Trouble, method: string): void {
    (method === LOGS ? this.logs : this.health).failed(trouble);
    // One that counts calls is who it was.
    if (this.health.paused && trouble.tag !== 'rate_limited') this.chain.doubt();
    if (this.pausedFor(method)) {
      this.#tell(false, 'an RPC endpoint is left alone for a while', { why: trouble.tag });
    }
  }

  pausedFor(method: string): boolean {
    return this.health.paused || (method === LOGS && this.logs.paused);
  }

  behind(): void {
    this.health.demote();
    this.#tell(false, 'an RPC endpoint answers from the past: others are asked first', {});
  }

  /** Once per change, not per call. */
  #tell(well: boolean, message: string, details: object): void {
    if (this.#told === well) return;
    this.#told = well;
    this.#logger?.[well ? 'info' : 'warn']({ endpoint: this.name, ...details }, message);
  }
}

export class Endpoints {
  readonly #options: EndpointsOptions;
  readonly #clock: () => number;
  readonly #all: readonly Endpoint[];
  readonly #heads: Heads;
  #comparedAt = Number.NEGATIVE_INFINITY;

  constructor(options: EndpointsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? steadyNow;
    this.#heads = new Heads(this.#clock);
    this.#all = options.endpoints.map(
      (endpoint, index) =>
        new Endpoint(index, endpoint, options, (...asked) => this.#logsOf(...asked)),
    );
  }

  /** Asks every endpoint for its chain; does not wait for the silent ones where one serves it. */
  async servesChain(): Promise<ChainVerdict> {
    return await anyServes(this.#all.map(({ chain }) => chain));
  }

  /** @throws what the endpoints throw: a refusal before a fault, a fault before a silence */
  async request(call: ReadCall): Promise<unknown> {
    const order = this.#inOrder(call.method);
    this.#lookAround(asksForHead(call) ? order[0] : undefined);
    return await attempt(call, order, {
      timeoutMs: this.#options.timeoutMs,
      patienceMs: this.#patienceMs(call.method),
      judge: (endpoint, error) => {
        const verdict = this.#options.verdictOf(error, call.method);
        note(endpoint, verdict, call.method);
        return verdict;
      },
      onAnswer: (endpoint, result) => {
        const isBelieved = !this.#belies(endpoint, call, result);
        if (isBelieved) endpoint.answered(call.method);
        else endpoint.failed({ tag: 'fault' }, call.method);
        this.#noteHead(endpoint, call, result);
        return isBelieved;
      },
      isAbsence: (result) => result === null && blockAskedFor(call) !== null,
      // Who does not have their last block says so.
      isOfNow: ({ method, params }) => method === LOGS && Number.isFinite(rangeOf(params).to),
      lateError: () => this.#options.lateError(call),
      weightOf: this.#options.weightOf ?? (() => 0),
    });
  }

  /** Each group in the order of the configuration. */
  #inOrder(method: string): Endpoint[] {
    const rank = (endpoint: Endpoint): number => {
      const { health } = endpoint;
      // No probe asks for logs: after its pause one call finds out.
      if (endpoint.pausedFor(method)) return 3;
      if (health.doubtful) return 2;
      return health.behind ? 1 : 0;
    };
    return this.#ours().toSorted((a, b) => rank(a) - rank(b));
  }

  /** Those not of another chain; all where none is left, and then they say so. */
  #ours(): readonly Endpoint[] {
    const left = this.#all.filter(({ chain }) => !chain.isForeign);
    return left.length > 0 ? left : this.#all;
  }

  /** A range of logs may well take seconds, and is not asked for twice because of that. */
  #patienceMs(method: string): number {
    const share = this.#options.timeoutMs / this.#all.length;
    return method === LOGS ? share : Math.min(share / 2, PATIENCE_MS);
  }

  /** Probes in the wake of a call; nobody waits for them. @param asked shows its head by the call itself */
  #lookAround(asked: Endpoint | undefined): void {
    const compares = this.#clock() - this.#comparedAt >= COMPARE_EVERY_MS;
    if (compares) this.#comparedAt = this.#clock();
    for (const endpoint of this.#ours()) {
      const { health, index, probing } = endpoint;
      if (probing || health.paused || endpoint === asked) continue;
      if (health.doubtful || (compares && this.#heads.age(index) > HEAD_KNOWN_MS)) {
        void this.#probe(endpoint);
      }
    }
  }

  async #probe(endpoint: Endpoint): Promise<void> {
    endpoint.probing = true;
    await this.#heightOf(endpoint, endpoint.ask);
    endpoint.probing = false;
  }

  /**
   * Logs as an endpoint tells them that has their last block, as it says itself: before they are asked for and after
   * that, because behind one address another replica may take over at any time.
   * @throws NotThereYet
   */
  async #logsOf(
    endpoint: Endpoint,
    call: ReadCall,
    signal: AbortSignal,
    ask: Ask,
  ): Promise<unknown> {
    const { to } = rangeOf(call.params);
    if (!Number.isFinite(to)) return await ask(call, signal);
    const has = this.#heads.lastOf(endpoint.index) >= to;
    if (!has && !(await this.#getsTo(to, endpoint, ask, signal))) {
      throw new NotThereYet(endpoint.name, to);
    }
    const logs = await ask(call, signal);
    if ((await this.#surelyHeightOf(endpoint, ask, signal)) < to) {
      throw new NotThereYet(endpoint.name, to);
    }
    return logs;
  }

  /** Waits a moment for an endpoint that is a few blocks behind, as all but the first to show a block are. */
  async #getsTo(
    block: number,
    endpoint: Endpoint,
    ask: Ask,
    signal: AbortSignal,
  ): Promise<boolean> {
    const until = this.#clock() + Math.min(LACKING_MS, this.#patienceMs(LOGS) / 2);
    for (;;) {
      const height = await this.#surelyHeightOf(endpoint, ask, signal);
      if (height >= block) return true;
      if (block - height > LACKING_BLOCKS || this.#clock() >= until) return false;
      await afterAMoment();
      // Somebody else has answered meanwhile.
      if (signal.aborted) return false;
    }
  }

  /** One broken connection, or one call too many, does not cost the logs. */
  async #surelyHeightOf(endpoint: Endpoint, ask: Ask, signal: AbortSignal): Promise<number> {
    const height = await this.#heightOf(endpoint, ask, signal);
    if (height >= 0 || signal.aborted) return height;
    await afterAMoment();
    return signal.aborted ? height : await this.#heightOf(endpoint, ask, signal);
  }

  /** The head that it shows now; -1 where it shows none, which is held against it and not against the call. */
  async #heightOf(endpoint: Endpoint, ask: Ask, signal?: AbortSignal): Promise<number> {
    const { timeoutMs, verdictOf } = this.#options;
    const ending = new AbortController();
    const end = (): void => ending.abort();
    const deadline = setTimeout(end, Math.min(PROBE_MS, timeoutMs));
    signal?.addEventListener('abort', end);
    try {
      const result = await ask(LATEST, ending.signal);
      endpoint.answered(LATEST.method);
      this.#noteHead(endpoint, LATEST, result);
      return headOf(LATEST, result)?.number ?? -1;
    } catch (error) {
      if (signal?.aborted !== true) {
        const verdict = ending.signal.aborted ? LATE : verdictOf(error, LATEST.method);
        note(endpoint, verdict, LATEST.method);
      }
      return -1;
    } finally {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', end);
    }
  }

  /** Whether it does not have a block that is below the head which it has shown itself. */
  #belies({ index }: Endpoint, call: ReadCall, result: unknown): boolean {
    if (result !== null) return false;
    const block = blockAskedFor(call);
    return typeof block === 'number' && block <= this.#heads.lastOf(index);
  }

  #noteHead({ index }: Endpoint, call: ReadCall, result: unknown): void {
    const head = headOf(call, result);
    if (head === null) return;
    for (const lagging of this.#heads.saw(index, head)) this.#all[lagging]?.behind();
  }
}

const afterAMoment = async (): Promise<void> =>
  await new Promise((resolve) => {
    setTimeout(resolve, LACKING_EVERY_MS);
  });

/** What an answer or a refusal says of who gave it. */
function note(endpoint: Endpoint, verdict: Verdict, method: string): void {
  if (verdict.tag === 'lacking') return;
  if (verdict.tag === 'reverted' || verdict.tag === 'refused') endpoint.answered(method);
  else endpoint.failed(verdict, method);
}

function asksForHead({ method, params }: ReadCall): boolean {
  if (method === 'eth_blockNumber') return true;
  return method === 'eth_getBlockByNumber' && Array.isArray(params) && params[0] === 'latest';
}

/** The head that an answer shows, or null where it is about something else. */
function headOf(call: ReadCall, result: unknown): SeenHead | null {
  if (!asksForHead(call)) return null;
  if (typeof result === 'string') {
    const number = quantityOf(result);
    return number === null ? null : { number, seconds: null };
  }
  if (typeof result !== 'object' || result === null) return null;
  const { number, timestamp } = result as { number?: unknown; timestamp?: unknown };
  const height = quantityOf(number);
  return height === null ? null : { number: height, seconds: quantityOf(timestamp) };
}
