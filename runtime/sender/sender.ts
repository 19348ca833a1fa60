/**
 * The one sender of keeper and relayer. What holds, at every moment and across any crash:
 *
 * 1. Write before broadcast: intent row → signature for a nonce → nonce, bytes and hash stored as one → sent.
 * 2. Never two transactions for one intent: on doubt the same bytes go out again; an intent never takes a new nonce
 *    while its old one may still land.
 * 3. Nonces have no holes: claimed after the simulation passed, reused when the send certainly went nowhere, filled
 *    when somebody else left one.
 * 4. Stuck is bounded: replaced under the same nonce with both fees raised, up to the cap, then cancelled.
 * 5. Errors are classified by structure: revert data never decides about a nonce.
 * 6. Included is not final: a receipt is read again at the confirmation depth; a reorg returns it to broadcast.
 * 7. Nothing waits for ever: every wait has a deadline, every map a bound.
 *
 * One process sends from a wallet and a journal at a time: the store's exclusive lock holds that, or, among replicas,
 * the lead. Of a leader that was overtaken nothing is written any more, so what it may still put on the wire are bytes
 * that the next leader found in the journal: it keeps their nonces and sends the same ones.
 */
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { LocalAccount } from 'viem/accounts';
import { foreignLine } from '../chain/endpoint-chain.ts';
import { steadyNow } from '../clock.ts';
import { redactUrl } from '../logger.ts';
import { type Fence, Overtaken, unfenced } from '../store/lead.ts';
import type { Store } from '../store/store.ts';
import { boot } from './boot.ts';
import { Broadcaster } from './broadcast.ts';
import type { DurablePoint, SenderContext } from './context.ts';
import { Dispatcher } from './dispatch.ts';
import {
  type Entry,
  hasReached,
  isFinal,
  isInFlight,
  isSubmitted,
  newestAttempt,
  publicState,
  refusal,
  storedIntent,
} from './entry.ts';
import { Head } from './head.ts';
import { JournalUnknown } from './insert.ts';
import { checkedIntent, sameTerms } from './intent.ts';
import { isNotOurs, Journal } from './journal.ts';
import { createSenderMetrics } from './metrics.ts';
import type { SenderSettings } from './options.ts';
import { staleOf } from './prepare.ts';
import { Reconciler } from './reconcile.ts';
import { Replacer } from './replace.ts';
import { createRpc, type Rpc } from './rpc.ts';
import { syncWallets } from './sync.ts';
import type { SenderTables } from './tables.ts';
import type {
  Intent,
  IntentState,
  Sender,
  SenderStatus,
  StoredIntent,
  SubmitOptions,
  WaitUntil,
  WalletStatus,
} from './types.ts';
import { Waits } from './waits.ts';
import { type Wallet, Wallets } from './wallets.ts';

type RpcPlace = { urls: readonly string[]; timeoutMs: number; contract?: `0x${string}` };

export type SenderDeps<DB extends SenderTables> = {
  /** Endpoints, best first, and a contract that the chain has; or a port of your own. */
  rpc: RpcPlace | Rpc;
  chainId: number;
  wallets: readonly LocalAccount[];
  /** Wallets that send only what names them in `from`, and take no other work: a treasury. None of `wallets`. */
  namedOnly?: readonly LocalAccount[];
  /** Opened with `senderMigrations` among its migrations, and `exclusive` set unless there is a `fence`. */
  store: Store<DB>;
  /** Where several processes share the store: of the lead under which this sender writes and sends. */
  fence?: Fence;
  settings: SenderSettings;
  logger: Logger;
  registry: Registry;
  /**
   * How often intents are taken on that other processes have written (shared.ts), in milliseconds; absent: there are
   * none.
   */
  adoptMs?: number;
  /** `basket_<process>`. */
  metricsPrefix: string;
  /** Longest wait of `start()` for chain and journal, default 30 s. */
  startTimeoutMs?: number;
  /**
   * The journal was written by another process, or the lead is lost (`Overtaken`): the sender has stopped for good.
   * Default: the error is logged and the sender refuses work.
   */
  onFatal?: (error: unknown) => void;
  /** For tests that end the process at a certain moment. */
  onDurablePoint?: (point: DurablePoint) => void;
  clock?: () => number;
};

const DEFAULT_SUBMIT_MS = 15_000;
const START_MS = 30_000;
const QUIET_TICK_MS = 1_000;
/** What is read in advance is to be fresh still when it is needed. */
const IN_ADVANCE_MS = 250;
const UNFUNDED_TICK_MS = 5_000;

/** Builds the sender; nothing is read or sent before `start()`. */
export function createSender<DB extends SenderTables>(deps: SenderDeps<DB>): Sender {
  return new OneSender(deps);
}

class OneSender<DB extends SenderTables> implements Sender {
  readonly #deps: SenderDeps<DB>;
  readonly #context: SenderContext;
  readonly #broadcaster: Broadcaster;
  readonly #dispatcher: Dispatcher;
  readonly #reconciler: Reconciler;
  readonly #waits = new Waits();
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new';
  #loop: Promise<unknown> = Promise.resolve();
  #ended: Promise<void> | null = null;
  #wake: (() => void) | null = null;
  #nudged = false;
  #quietTicks = 0;

  constructor(deps: SenderDeps<DB>) {
    this.#deps = deps;
    const clock = deps.clock ?? steadyNow;
    const fence = deps.fence ?? unfenced;
    const logger = deps.logger.child({ module: 'sender' });
    this.#context = {
      rpc: 'urls' in deps.rpc ? rpcOf(deps.rpc, deps.chainId, logger) : deps.rpc,
      // The sender's tables are part of the process's own; kysely's types do not narrow by themselves.
      journal: new Journal(deps.store.db as unknown as Kysely<SenderTables>, clock, fence),
      commitsLate: deps.store.dialect === 'postgres',
      fence,
      wallets: new Wallets(deps.wallets, deps.settings.maxInFlightPerWallet, deps.namedOnly),
      head: new Head(),
      settings: deps.settings,
      chainId: deps.chainId,
      logger,
      metrics: createSenderMetrics(deps.registry, deps.metricsPrefix, () => this.status()),
      clock,
      onDurablePoint: deps.onDurablePoint ?? (() => undefined),
      nudge: () => this.#nudge(),
    };
    const fatal = (error: unknown): void => this.#fail(error);
    this.#broadcaster = new Broadcaster(this.#context);
    this.#dispatcher = new Dispatcher(this.#context, this.#broadcaster, fatal);
    const replacer = new Replacer(this.#context, this.#broadcaster, this.#dispatcher);
    this.#reconciler = new Reconciler(this.#context, this.#broadcaster, this.#dispatcher, replacer);
    this.#context.journal.onChange((entry) => this.#waits.notify(entry));
  }

  async start(): Promise<void> {
    if (this.#state !== 'new') throw new Error('the sender was started before');
    await boot(this.#context, this.#broadcaster, this.#deps.startTimeoutMs ?? START_MS);
    this.#state = 'running';
    this.#loop = Promise.all([this.#run(), this.#adopt()]);
    this.#nudge();
  }

  async submit(asked: Intent, options: SubmitOptions = {}): Promise<IntentState> {
    const intent = checkedIntent(asked);
    const { journal, settings, logger } = this.#context;
    const known = await journal.load(intent.key);
    if (known === null) {
      if (this.#state !== 'running') return refusal('stopping', 'the sender takes no new intents');
      if (this.#queued() >= settings.queueLimit) {
        return refusal('queue_full', `${settings.queueLimit} intents wait already`);
      }
    }
    const inserted =
      known === null
        ? await this.#inserted(intent, options.guard)
        : { created: false, entry: (await this.#takeOn(intent.key)) ?? known };
    if (inserted === 'stopping') return refusal('stopping', 'the sender takes no new intents');
    if (inserted === null) return refusal('withdrawn', 'its caller took it back');
    const { created, entry } = inserted;
    if (created) this.#context.onDurablePoint('inserted');
    else if (!sameTerms(entry.intent, intent)) {
      logger.warn({ intent: intent.key }, 'a known key came with other terms: the first ones hold');
    }
    // The loop, asleep while idle, has not heard of it: it is new, or another process has written it a moment ago.
    if (!isSubmitted(entry)) this.#nudge();
    await this.#awaitEntry(intent.key, isSubmitted, options.timeoutMs ?? DEFAULT_SUBMIT_MS);
    const last = await journal.load(intent.key);
    if (last === null) throw new Error(`intent ${intent.key} vanished from the journal`);
    return publicState(last);
  }

  /** Takes on the row of a key, and the nonce that it holds. */
  async #takeOn(key: string): Promise<Entry | null> {
    const { journal, wallets } = this.#context;
    const entry = await journal.take(key);
    if (entry === null || entry.wallet === null || entry.nonce === null) return entry;
    const attempt = newestAttempt(entry);
    if (!isInFlight(entry.phase) || attempt === null) return entry;
    const wallet = wallets.of(entry.wallet);
    if (wallet.book.take(entry.nonce, key)) {
      wallet.setCost(entry.nonce, attempt.gas * attempt.maxFee + entry.intent.value);
    }
    return entry;
  }

  async freshen(): Promise<void> {
    if (this.#state !== 'running') return;
    const own = this.#context.wallets.all().filter(({ account }) => account !== null);
    const stale = own
      .map((wallet) => staleOf(this.#context, wallet, IN_ADVANCE_MS))
      .filter((all) => all !== null);
    if (stale.length === 0) return;
    try {
      await syncWallets(this.#context, stale.flat());
    } catch (error) {
      if (isNotOurs(error)) return this.#fail(error);
      this.#context.logger.warn({ err: error }, 'the wallets could not be read in advance');
    }
  }

  async #inserted(
    intent: Intent,
    guard: SubmitOptions['guard'],
  ): Promise<{ created: boolean; entry: Entry } | null | 'stopping'> {
    try {
      const signed = await this.#dispatcher.insertSigned(intent, guard);
      if (signed !== 'later') return signed;
      // It may have waited for its turn until the end.
      if (this.#state !== 'running') return 'stopping';
      return await this.#context.journal.insert(intent, guard);
    } catch (error) {
      if (isNotOurs(error)) this.#fail(error);
      else {
        // A store that did not answer in time may have written it: then it is work like any other.
        const entry = await this.#takeOn(intent.key).catch(() => null);
        if (entry !== null) return { created: false, entry };
      }
      throw error;
    }
  }

  async wait(key: string, until: WaitUntil, timeoutMs: number): Promise<IntentState | null> {
    await this.#awaitEntry(key, hasReached(until), timeoutMs);
    const entry = await this.#context.journal.load(key);
    return entry === null ? null : publicState(entry);
  }

  async get(key: string): Promise<StoredIntent | null> {
    const entry = await this.#context.journal.load(key);
    return entry === null ? null : storedIntent(entry);
  }

  async recent(limit: number): Promise<StoredIntent[]> {
    return (await this.#context.journal.recent(limit)).map(storedIntent);
  }

  status(): SenderStatus {
    const { journal, wallets, clock } = this.#context;
    let queued = 0;
    let inFlight = 0;
    let oldest = clock();
    for (const entry of journal.active()) {
      if (entry.phase === 'queued') queued += 1;
      else if (isInFlight(entry.phase)) inFlight += 1;
      else continue;
      oldest = Math.min(oldest, entry.createdAt);
    }
    return {
      wallets: statusOf(wallets.all().filter(({ namedOnly }) => !namedOnly)),
      namedOnly: statusOf(wallets.all().filter(({ namedOnly }) => namedOnly)),
      queued,
      inFlight,
      oldestUnsettledMs: clock() - oldest,
    };
  }

  onChange(
    listener: (change: { key: string; kind: string; state: IntentState }) => void,
  ): () => void {
    return this.#context.journal.onChange((entry) => {
      try {
        listener({ key: entry.key, kind: entry.intent.kind, state: publicState(entry) });
      } catch (error) {
        // A listener's fault must not stop the write that it was told about.
        this.#context.logger.error({ err: error, intent: entry.key }, 'listener failed');
      }
    });
  }

  async stop(drainMs: number): Promise<void> {
    this.#ended ??= this.#end(drainMs);
    await this.#ended;
  }

  async #end(drainMs: number): Promise<void> {
    const running = this.#state === 'running';
    if (this.#state !== 'stopped') this.#state = 'stopping';
    const { journal, clock, logger } = this.#context;
    const until = running ? clock() + drainMs : 0;
    const open = (): boolean =>
      [...journal.active()].some(({ phase }) => phase === 'queued' || isInFlight(phase));
    while (open() && clock() < until && this.#isServing()) {
      await this.#sleep(Math.min(50, Math.max(1, until - clock())));
    }
    this.#state = 'stopped';
    this.#wake?.();
    await this.#dispatcher.stop();
    await this.#loop;
    this.#waits.end();
    if ('urls' in this.#deps.rpc) this.#context.rpc.close();
    if (open()) logger.info({ left: journal.activeCount }, 'stopped; the journal carries the rest');
  }

  async #run(): Promise<void> {
    while (this.#isServing()) {
      const started = this.#context.clock();
      this.#nudged = false;
      let delay: number | null;
      try {
        const result = await this.#reconciler.tick();
        this.#dispatcher.pump();
        delay = this.#delayAfter(result);
      } catch (error) {
        if (isNotOurs(error)) return this.#fail(error);
        // A fault of the store, say a full disk: the state on disk still holds, the next turn tries again.
        this.#context.logger.error({ err: error }, 'the sender loop failed, going on');
        delay = QUIET_TICK_MS;
      }
      await this.#pause(started, delay);
    }
  }

  async #adopt(): Promise<void> {
    const { adoptMs } = this.#deps;
    if (adoptMs === undefined) return;
    while (this.#state === 'running') {
      try {
        if ((await this.#context.journal.adopt()) > 0) this.#nudge();
      } catch (error) {
        // Expected where the store is out of reach: the rows stay, and the next turn finds them.
        this.#context.logger.error({ err: error }, 'the queue could not be read, going on');
      }
      await this.#sleep(adoptMs);
    }
  }

  /** Null: nothing to do until somebody asks. */
  #delayAfter(result: 'idle' | 'quiet' | 'changed'): number | null {
    const { tickMs } = this.#context.settings;
    const { journal } = this.#context;
    if (result === 'idle') return null;
    if (journal.activeCount === 0) return UNFUNDED_TICK_MS;
    this.#quietTicks = result === 'changed' ? 0 : this.#quietTicks + 1;
    // A chain that stands still is asked less often; the count of calls stays flat however much waits.
    return Math.max(tickMs, Math.min(tickMs * 1.25 ** this.#quietTicks, QUIET_TICK_MS));
  }

  async #pause(started: number, delay: number | null): Promise<void> {
    const { clock, settings } = this.#context;
    if (!this.#nudged && this.#isServing()) {
      await new Promise<void>((resolve) => {
        const timer = delay === null ? null : setTimeout(resolve, delay);
        this.#wake = () => {
          if (timer !== null) clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = null;
    }
    // Nudges come in bursts: the cadence holds for them too.
    const rest = started + settings.tickMs - clock();
    if (rest > 0 && this.#isServing()) await this.#sleep(rest);
  }

  #nudge(): void {
    if (!this.#isServing()) return;
    this.#nudged = true;
    this.#quietTicks = 0;
    this.#dispatcher.pump();
    this.#wake?.();
  }

  #isServing(): boolean {
    return this.#state === 'running' || this.#state === 'stopping';
  }

  async #sleep(ms: number): Promise<void> {
    await new Promise((resolve) => {
      setTimeout(resolve, ms);
    });
  }

  async #awaitEntry(
    key: string,
    reached: (entry: Entry) => boolean,
    timeoutMs: number,
  ): Promise<void> {
    const waiting = this.#waits.until(key, reached, timeoutMs);
    // Registered first, read second: no change can fall between.
    const entry = await this.#context.journal.load(key);
    if (entry === null || reached(entry) || isFinal(entry)) {
      if (entry !== null) this.#waits.notify(entry);
      if (entry === null) this.#waits.release(key);
      return;
    }
    await waiting;
  }

  #queued(): number {
    let queued = 0;
    for (const { phase } of this.#context.journal.active()) if (phase === 'queued') queued += 1;
    return queued;
  }

  #fail(error: unknown): void {
    if (this.#state === 'stopped') return;
    if (error instanceof Overtaken) {
      this.#context.logger.warn('the sender stops: this process no longer leads');
    } else if (error instanceof JournalUnknown) {
      const what = 'the sender stops: its journal does not say what is in it';
      this.#context.logger.fatal({ err: error }, what);
    } else {
      this.#context.logger.fatal({ err: error }, 'the sender stops: its journal is not its own');
    }
    this.#state = 'stopped';
    this.#broadcaster.end();
    this.#dispatcher.halt();
    this.#waits.end();
    this.#wake?.();
    this.#deps.onFatal?.(error);
  }
}

function rpcOf({ contract, ...options }: RpcPlace, id: number, logger: Logger): Rpc {
  return createRpc({
    ...options,
    chain: { id, contract },
    onForeign: (url, told) => {
      const [fields, message] = foreignLine(told);
      logger.error({ endpoint: redactUrl(url), ...fields }, message);
    },
  });
}

const statusOf = (wallets: readonly Wallet[]): WalletStatus[] =>
  wallets.map((wallet) => wallet.status());
