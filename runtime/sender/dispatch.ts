/**
 * From the queue to the wire: simulate, take a nonce, sign, store both, send. A nonce is taken only after the simulation
 * passed, and everything before it is stored may fail without a trace on the chain.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Address } from 'viem';
import { type Broadcaster, SigningError } from './broadcast.ts';
import type { SenderContext } from './context.ts';
import { type Attempt, type Entry, isInFlight, newestAttempt } from './entry.ts';
import { type Guard, JournalUnknown } from './insert.ts';
import type { Fees } from './fees.ts';
import { isNotOurs } from './journal.ts';
import { NO_ANSWER, type Preparation, prepare, prepareNow } from './prepare.ts';
import { syncWallets } from './sync.ts';
import { FILL_KEYS, isLeftFill } from './fill.ts';
import type { Intent, Refusal } from './types.ts';
import type { Wallet } from './wallets.ts';

type Step =
  | { tag: 'done' }
  /** No capacity: the next settled intent makes some. */
  | { tag: 'busy' }
  | Extract<Preparation, { tag: 'retry' | 'refuse' }>;

type Ready = Extract<Preparation, { tag: 'ready' }>;

const NONE: ReadonlySet<Address> = new Set();
const CONCURRENT = 16;
const BUSY_PAUSE_MS = 500;
const RELEASED_PAUSE_MS = 500;
const LONGEST_RETRY_MS = 2_000;
/** A commit whose answer was lost may come after the next look. */
const IN_DOUBT_MS = 2_000;
const LOOK_MS = 100;

export class Dispatcher {
  readonly #context: SenderContext;
  readonly #broadcaster: Broadcaster;
  readonly #fatal: (error: unknown) => void;
  readonly #running = new Map<string, Promise<void>>();
  /** Backoff of queued intents: bounded by the queue. */
  readonly #retries = new Map<string, { since: number; at: number; count: number }>();
  #stopped = false;

  constructor(context: SenderContext, broadcaster: Broadcaster, fatal: (error: unknown) => void) {
    this.#context = context;
    this.#broadcaster = broadcaster;
    this.#fatal = fatal;
  }

  /** Starts what can start now, oldest first. */
  pump(): void {
    if (this.#stopped) return;
    const now = this.#context.clock();
    let full = false;
    for (const entry of this.#context.journal.active()) {
      if (this.#running.size >= CONCURRENT) return;
      if (entry.phase !== 'queued' || this.#running.has(entry.key)) continue;
      if (isLeftFill(entry)) continue;
      if ((this.#retries.get(entry.key)?.at ?? 0) > now) continue;
      full = full || this.#context.wallets.pick(NONE).tag === 'busy';
      // One that names its wallet waits for that wallet alone.
      if (full && entry.nonce === null && entry.intent.from === undefined) continue;
      this.#begin(entry.key, async () => {
        const queued = this.#context.journal.peek(entry.key);
        return queued?.phase === 'queued' ? await this.#dispatch(queued) : { tag: 'done' };
      });
    }
  }

  #begin(key: string, work: () => Promise<Step>): void {
    const run = this.#run(key, work).finally(() => {
      this.#running.delete(key);
      this.#context.nudge();
    });
    this.#running.set(key, run);
  }

  /**
   * Writes a new intent with its nonce and its bytes as one, and begins to send them, where nobody waits before it and
   * nothing has to be asked for that. As `Journal.insert` otherwise; `later`: it goes by way of the queue, and nothing
   * is written yet.
   */
  async insertSigned(
    intent: Intent,
    guard: Guard | undefined,
  ): Promise<{ created: boolean; entry: Entry } | null | 'later'> {
    const { wallets } = this.#context;
    const { key, from } = intent;
    if (this.#stopped || this.#running.has(key) || this.#running.size >= CONCURRENT) return 'later';
    if (this.#hasQueue()) return 'later';
    const pick = from === undefined ? wallets.pick(NONE) : wallets.pickOnly(from, NONE);
    if (pick.tag !== 'wallet') return 'later';
    const { wallet } = pick;
    wallet.reserved += 1;
    const inserting = wallet.inTurn(async () => await this.#insertUnder(intent, guard, wallet));
    const written = inserting.then(
      () => undefined,
      () => undefined,
    );
    this.#running.set(key, written);
    try {
      return await inserting;
    } finally {
      wallet.reserved -= 1;
      if (this.#running.get(key) === written) this.#running.delete(key);
    }
  }

  #hasQueue(): boolean {
    for (const { phase } of this.#context.journal.active()) if (phase === 'queued') return true;
    return false;
  }

  /** Call inside the wallet's turn. */
  async #insertUnder(
    intent: Intent,
    guard: Guard | undefined,
    wallet: Wallet,
  ): Promise<{ created: boolean; entry: Entry } | null | 'later'> {
    const prepared = prepareNow(this.#context, intent, wallet);
    if (this.#stopped || prepared === null) return 'later';
    const { gas, fees } = prepared;
    const nonce = wallet.book.allocate(intent.key);
    wallet.setCost(nonce, gas * fees.maxFee + intent.value);
    let held: Entry | null = null;
    try {
      const attempt = await this.#broadcaster.first(intent, wallet, nonce, gas, fees);
      if (attempt === null || this.#stopped) return 'later';
      const inserted = await this.#insertOrTake(intent, guard, attempt);
      if (inserted !== null && holds(inserted.entry, wallet, nonce)) held = inserted.entry;
      if (held === null || inserted?.created !== true) return inserted;
      this.#broadcaster.firstStored(held, wallet, attempt);
      const { entry } = inserted;
      // The next life sends them otherwise.
      if (!this.#stopped) this.#begin(intent.key, async () => await this.#sendFirst(entry, wallet));
      return inserted;
    } catch (error) {
      // Whoever dispatches it refuses it, and says so in its row.
      if (error instanceof SigningError) return 'later';
      throw error;
    } finally {
      // No bytes left this process, and no row says anything of the nonce.
      if (held === null) wallet.book.release(nonce);
    }
  }

  /** What a store wrote that did not say so is work like any other, and its nonce is held. */
  async #insertOrTake(
    intent: Intent,
    guard: Guard | undefined,
    attempt: Attempt,
  ): Promise<{ created: boolean; entry: Entry } | null> {
    let inDoubt = false;
    const onDoubt = (): void => {
      inDoubt = true;
    };
    try {
      return await this.#context.journal.insert(intent, guard, { attempt, onDoubt });
    } catch (error) {
      if (isNotOurs(error) || !inDoubt) throw error;
      const entry = await this.#lookFor(intent.key);
      if (entry === null) throw error;
      return { created: false, entry };
    }
  }

  /**
   * The row whose commit failed, where it is there all the same; in PostgreSQL it may come a moment later.
   * @throws JournalUnknown where the store does not say
   */
  async #lookFor(key: string): Promise<Entry | null> {
    const { journal, clock, commitsLate } = this.#context;
    const until = clock() + IN_DOUBT_MS;
    for (;;) {
      const looked = await journal.take(key).then(
        (entry) => ({ entry }),
        () => null,
      );
      if (looked !== null && (looked.entry !== null || !commitsLate)) return looked.entry;
      if (clock() >= until) {
        if (looked === null) throw new JournalUnknown(key);
        return null;
      }
      await delay(LOOK_MS);
    }
  }

  /** Starts nothing more, and sends nothing more of what is being written. */
  halt(): void {
    this.#stopped = true;
  }

  /** Starts nothing more; resolves when what was started has reached a durable state. */
  async stop(): Promise<void> {
    this.halt();
    await Promise.all(this.#running.values());
  }

  /** Refuses what has waited in the queue past its deadline or the longest wait. */
  async expireQueue(): Promise<void> {
    const { journal, head, settings, clock } = this.#context;
    const time = head.block?.timestamp ?? 0;
    for (const entry of journal.active()) {
      if (entry.phase !== 'queued' || this.#running.has(entry.key)) continue;
      if (isLeftFill(entry)) {
        await this.#refuse(entry.key, 'rejected_by_node', 'the hole was not filled by it');
      } else if (entry.intent.notAfter !== undefined && time > entry.intent.notAfter) {
        await this.#refuse(entry.key, 'expired', 'its time ran out before it could be sent');
      } else if (clock() - entry.createdAt > settings.queueWaitMs) {
        await this.#refuse(entry.key, 'no_wallet', 'no wallet came free in time');
      }
    }
  }

  async #run(key: string, work: () => Promise<Step>): Promise<void> {
    try {
      const step = await work();
      if (step.tag === 'refuse') {
        await this.#refuse(key, step.reason, step.message, step.revertData ?? null);
      } else if (step.tag === 'retry') await this.#backOff(key, step.reason, step.message);
      else if (step.tag === 'busy') this.#retries.set(key, this.#pause());
      else this.#retries.delete(key);
    } catch (error) {
      if (isNotOurs(error)) return this.#fatal(error);
      if (error instanceof SigningError) {
        this.#context.logger.error({ err: error.cause, intent: key }, error.message);
        return await this.#refuse(key, 'rejected_by_node', error.message);
      }
      // A fault of the store or of ours: nothing is lost, the row still says where the intent stands.
      this.#context.logger.error({ err: error, intent: key }, 'dispatch failed');
      this.#later(key);
    }
  }

  async #dispatch(entry: Entry): Promise<Step> {
    if (entry.nonce !== null && entry.wallet !== null) return await this.#sendBound(entry);
    const tried = new Set<Address>();
    let tiedUp = false;
    let refreshed = false;
    for (;;) {
      const { from } = entry.intent;
      const { wallets } = this.#context;
      const pick = from === undefined ? wallets.pick(tried) : wallets.pickOnly(from, tried);
      if (pick.tag === 'none') {
        const message =
          from === undefined ? 'no key is loaded' : `the key of ${from} is not loaded`;
        return { tag: 'refuse', reason: 'no_wallet', message };
      }
      if (pick.tag === 'busy' || (pick.tag === 'unfunded' && tiedUp)) return { tag: 'busy' };
      if (pick.tag === 'unfunded') {
        const { message } = pick;
        if (refreshed) return { tag: 'refuse', reason: 'insufficient_eth', message };
        // Somebody may have topped one up since: a refusal is final, so it rests on a fresh read.
        refreshed = true;
        tried.clear();
        const synced = await syncWallets(this.#context, this.#context.wallets.all());
        if (synced === null || synced === 'behind') return NO_ANSWER;
        continue;
      }
      const { wallet } = pick;
      wallet.reserved += 1;
      try {
        const prepared = await prepare(this.#context, entry, wallet);
        if (prepared.tag === 'ready') return await this.#claimAndSend(entry, prepared);
        if (prepared.tag === 'retry' || prepared.tag === 'refuse') return prepared;
        tiedUp = tiedUp || prepared.tag === 'tied_up';
        tried.add(wallet.address);
      } finally {
        wallet.reserved -= 1;
      }
    }
  }

  async #claimAndSend(entry: Entry, prepared: Ready): Promise<Step> {
    const { wallet, gas, fees } = prepared;
    const persisted = await wallet.inTurn(async () => {
      // The turn may have been waited for: the wallet must still afford it.
      if (!wallet.affords(gas * fees.maxFee + entry.intent.value)) return 'busy' as const;
      const nonce = wallet.book.allocate(entry.key);
      wallet.setCost(nonce, gas * fees.maxFee + entry.intent.value);
      return await this.#signUnder(entry, wallet, nonce, gas, fees);
    });
    if (persisted === 'busy') return { tag: 'busy' };
    if (persisted === null) return { tag: 'done' };
    return await this.#sendFirst(persisted, wallet);
  }

  /** Writes the claim of a nonce already taken in the book, and the bytes. Call inside the wallet's turn. */
  async #signUnder(
    entry: Entry,
    wallet: Wallet,
    nonce: number,
    gas: bigint,
    fees: Fees,
  ): Promise<Entry | null> {
    let claimed: Entry | null = null;
    try {
      claimed = await this.#broadcaster.claim(entry, wallet, nonce, gas, fees);
      return claimed;
    } finally {
      // No bytes left this process, and the row says nothing of the nonce.
      if (claimed === null) wallet.book.release(nonce);
    }
  }

  async #sendFirst(entry: Entry, wallet: Wallet): Promise<Step> {
    const outcome = await this.#broadcaster.send(entry, wallet);
    if (outcome === 'released') {
      // An endpoint that limits rates gets a pause from this intent; others may use the nonce meanwhile.
      this.#later(entry.key, RELEASED_PAUSE_MS);
      return {
        tag: 'retry',
        reason: 'rpc_unavailable',
        message: 'no endpoint took the transaction',
      };
    }
    return { tag: 'done' };
  }

  /** Bytes exist from a send that went nowhere: the same ones go out, if their nonce is still to be had. */
  async #sendBound(entry: Entry): Promise<Step> {
    const { nonce, wallet: address } = entry;
    if (nonce === null || address === null) return { tag: 'done' };
    const wallet = this.#context.wallets.of(address);
    const holder = wallet.book.holder(nonce);
    // Another intent has the nonce: when that one is mined, the loop frees this one from it.
    if (nonce < wallet.book.count || (holder !== null && holder !== entry.key))
      return { tag: 'busy' };
    if (entry.intent.notAfter !== undefined) {
      const synced = await syncWallets(this.#context, []);
      const time = this.#context.head.block?.timestamp ?? 0;
      if (synced !== null && time > entry.intent.notAfter) {
        return { tag: 'refuse', reason: 'expired', message: 'its time ran out before it was sent' };
      }
    }
    const claimed = await wallet.inTurn(async () => {
      if (!wallet.book.take(nonce, entry.key)) return null;
      const event = { type: 'claimed', wallet: address, nonce } as const;
      const moved = await this.#context.journal.apply(entry.key, event);
      if (moved === null) wallet.book.release(nonce);
      return moved;
    });
    if (claimed === null) return { tag: 'busy' };
    const attempt = newestAttempt(claimed);
    if (attempt) wallet.setCost(nonce, attempt.gas * attempt.maxFee + entry.intent.value);
    return await this.#sendFirst(claimed, wallet);
  }

  /**
   * Takes a nonce that nobody holds and that blocks later ones, with an empty transaction to the wallet itself. False
   * when that cannot be done now.
   */
  async fillHole(wallet: Wallet, nonce: number): Promise<boolean> {
    const { journal, clock, logger, metrics } = this.#context;
    const key = `${FILL_KEYS}${wallet.address}:${nonce}:${clock()}`;
    const intent = { key, kind: 'fill', to: wallet.address, data: '0x', value: 0n } as const;
    this.#running.set(key, Promise.resolve());
    try {
      const { entry } = await journal.insert(intent);
      const prepared = await prepare(this.#context, entry, wallet);
      if (prepared.tag !== 'ready') {
        await this.#refuse(key, 'rpc_unavailable', 'the hole could not be filled now');
        return false;
      }
      const { gas, fees } = prepared;
      const stored = await wallet.inTurn(async () =>
        wallet.book.take(nonce, key)
          ? await this.#signUnder(entry, wallet, nonce, gas, fees)
          : null,
      );
      if (stored === null) {
        await this.#refuse(key, 'rejected_by_node', 'the hole was filled meanwhile');
        return true;
      }
      metrics.event('hole_filled');
      logger.warn({ wallet: wallet.address, nonce }, 'filling a nonce that nobody holds');
      await this.#broadcaster.send(stored, wallet);
      return true;
    } finally {
      this.#running.delete(key);
    }
  }

  async #refuse(
    key: string,
    reason: Refusal,
    message: string,
    revertData: `0x${string}` | null = null,
  ): Promise<void> {
    this.#retries.delete(key);
    await this.#context.journal.apply(key, { type: 'refused', reason, message, revertData });
  }

  async #backOff(key: string, reason: Refusal, message: string): Promise<void> {
    const { since } = this.#later(key);
    if (this.#context.clock() - since < this.#context.settings.dispatchMs) return;
    await this.#refuse(key, reason, message);
  }

  /** Before capacity is asked for again; settling intents make it, and no deadline runs meanwhile. */
  #pause(): { since: number; at: number; count: number } {
    const now = this.#context.clock();
    return { since: now, at: now + BUSY_PAUSE_MS, count: 0 };
  }

  #later(key: string, leastMs = 0): { since: number } {
    const now = this.#context.clock();
    const known = this.#retries.get(key) ?? { since: now, at: 0, count: 0 };
    const pause = Math.min(100 * 2 ** known.count, LONGEST_RETRY_MS);
    known.at = Math.max(known.at, now + Math.max(leastMs, pause));
    known.count += 1;
    this.#retries.set(key, known);
    return known;
  }
}

const holds = (entry: Entry, wallet: Wallet, nonce: number): boolean =>
  isInFlight(entry.phase) && entry.wallet === wallet.address && entry.nonce === nonce;
