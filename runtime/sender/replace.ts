/** Stuck is bounded: raises, then cancels, what all later nonces of a wallet wait for; fills nonces nobody holds. */
import type { Broadcaster } from './broadcast.ts';
import { REJECTIONS_UNTIL_CANCEL } from './broadcast.ts';
import { classifyEstimate } from './classify.ts';
import type { SenderContext } from './context.ts';
import type { Dispatcher } from './dispatch.ts';
import { type Attempt, type Entry, liveAttempts, newestAttempt } from './entry.ts';
import { type FeeDecision, MOST_ATTEMPTS, raisedFees, stuckStep, withHeadroom } from './fees.ts';
import type { Wallet } from './wallets.ts';

/** For a cancel when its gas cannot be estimated: ample on a chain whose L1 fee is counted in gas. */
const CANCEL_GAS = 200_000n;
const WARN_EVERY_MS = 60_000;
/** A hole shows for a moment too, where a count lags behind a receipt. */
const HOLE_TOLD_MS = 2_000;

export class Replacer {
  readonly #context: SenderContext;
  readonly #broadcaster: Broadcaster;
  readonly #dispatcher: Dispatcher;
  /** Holes that a wallet waits for: the lowest and since when, and up to where they are being filled. */
  readonly #holes = new Map<Wallet, { nonce: number; since: number; filledTo: number }>();
  readonly #warnedAt = new Map<Wallet, number>();

  constructor(context: SenderContext, broadcaster: Broadcaster, dispatcher: Dispatcher) {
    this.#context = context;
    this.#broadcaster = broadcaster;
    this.#dispatcher = dispatcher;
  }

  /** Looks after one wallet with work in flight. */
  async tend(wallet: Wallet): Promise<void> {
    if (wallet.account === null) return;
    await this.#tendHoles(wallet);
    for (const entry of this.#context.journal.active()) {
      const { phase } = entry;
      if (entry.wallet !== wallet.address || entry.nonce === null) continue;
      if (phase !== 'signed' && phase !== 'broadcast') continue;
      if (entry.nonce < wallet.book.count) continue;
      await this.#tendEntry(entry, wallet);
    }
  }

  async #tendEntry(entry: Entry, wallet: Wallet): Promise<void> {
    const { clock, head, settings } = this.#context;
    const newest = newestAttempt(entry);
    if (newest === null) return;
    const note = this.#broadcaster.note(entry.key);
    if (note.sending) return;
    if (note.abandoned && newest.role === 'execute') return await this.#cancel(entry, wallet);
    if (note.underpriced) {
      note.underpriced = false;
      return await this.#raise(entry, wallet, newest.role);
    }
    if (wallet.book.headOfLine() !== entry.nonce) return;
    const now = clock();
    if (note.headOfLineSince === 0) note.headOfLineSince = now;
    // A process before this one may have had a clock ahead of ours.
    const madeAt = newest.createdAt <= now ? newest.createdAt : 0;
    let rejected = newest.role === 'execute' && note.rejections >= REJECTIONS_UNTIL_CANCEL;
    if (rejected && (await this.#isKnown(newest))) {
      note.taken = newest.hash;
      note.rejections = 0;
      rejected = false;
    }
    const { notAfter } = entry.intent;
    const step = stuckStep({
      waitedMs: now - Math.max(madeAt, note.headOfLineSince),
      stuckAfterMs: settings.stuckAfterMs,
      expired: notAfter !== undefined && (head.block?.timestamp ?? 0) > notAfter,
      rejected,
      newestRole: newest.role,
      attempts: liveAttempts(entry).length,
    });
    switch (step) {
      case 'wait':
        return;
      case 'cancel':
        return await this.#cancel(entry, wallet);
      case 'replace':
        return await this.#raise(entry, wallet, 'execute');
      case 'raise_cancel':
        return await this.#raise(entry, wallet, 'cancel');
    }
  }

  /** Nodes refuse what they have in words of their own; whether they have it is asked by its hash. */
  async #isKnown({ hash }: Attempt): Promise<boolean> {
    const [answer] = await this.#context.rpc.batch([
      { method: 'eth_getTransactionByHash', params: [hash] },
    ]);
    return answer?.tag === 'result' && typeof answer.result === 'object' && answer.result !== null;
  }

  async #raise(entry: Entry, wallet: Wallet, role: Attempt['role']): Promise<void> {
    const newest = newestAttempt(entry);
    if (newest === null) return;
    const decision = this.#fees(entry, newest, role);
    if (decision === null) return;
    if (decision.tag === 'fees')
      return await this.#replace(entry, wallet, role, newest.gas, decision);
    if (role === 'execute') return await this.#cancel(entry, wallet);
    this.#warnAtCap(entry, wallet, decision.needed);
  }

  async #cancel(entry: Entry, wallet: Wallet): Promise<void> {
    const newest = newestAttempt(entry);
    if (newest === null) return;
    const decision = this.#fees(entry, newest, 'cancel');
    if (decision === null) return;
    if (decision.tag === 'over_cap') return this.#warnAtCap(entry, wallet, decision.needed);
    const call = { from: wallet.address, to: wallet.address, data: '0x', value: '0x0' };
    const [answer] = await this.#context.rpc.batch([{ method: 'eth_estimateGas', params: [call] }]);
    const verdict = answer === undefined ? null : classifyEstimate(answer);
    const gas =
      verdict?.tag === 'gas'
        ? withHeadroom(verdict.gas, this.#context.settings.gasHeadroomPercent)
        : CANCEL_GAS;
    await this.#replace(entry, wallet, 'cancel', gas, decision);
  }

  #fees(entry: Entry, newest: Attempt, role: Attempt['role']): FeeDecision | null {
    const { head, settings } = this.#context;
    if (head.block === null || liveAttempts(entry).length >= MOST_ATTEMPTS) return null;
    return raisedFees(newest, head.block.baseFee, settings.tip, role, {
      cap: settings.maxFee,
      intentCap: entry.intent.maxFeePerGas ?? null,
      bumpPercent: settings.bumpPercent,
    });
  }

  async #replace(
    entry: Entry,
    wallet: Wallet,
    role: Attempt['role'],
    gas: bigint,
    { fees }: Extract<FeeDecision, { tag: 'fees' }>,
  ): Promise<void> {
    const { journal, logger, metrics } = this.#context;
    const persisted = await wallet.inTurn(async () => {
      const now = journal.peek(entry.key);
      // A receipt or another attempt may have come since it was judged.
      if (now === null || now.version !== entry.version) return null;
      return await this.#broadcaster.replace(now, wallet, role, gas, fees);
    });
    if (persisted === null) return;
    metrics.replaced(role);
    logger.warn(
      {
        intent: entry.key,
        nonce: entry.nonce,
        hash: persisted.attempt.hash,
        maxFee: fees.maxFee,
        attempts: liveAttempts(persisted.entry).length,
      },
      role === 'cancel' ? 'cancelling under the same nonce' : 'replacing under the same nonce',
    );
    const note = this.#broadcaster.note(entry.key);
    note.rejections = 0;
    note.failures = 0;
    await this.#broadcaster.send(persisted.entry, wallet);
  }

  #warnAtCap(entry: Entry, wallet: Wallet, needed: bigint): void {
    const now = this.#context.clock();
    if (now - (this.#warnedAt.get(wallet) ?? 0) < WARN_EVERY_MS) return;
    this.#warnedAt.set(wallet, now);
    this.#context.logger.error(
      { intent: entry.key, wallet: wallet.address, nonce: entry.nonce, needed },
      'stuck at the fee cap: the wallet waits until the chain takes less or the cap is raised',
    );
  }

  /**
   * Nonces that nobody of ours holds but that ours wait for; queued work takes free ones first. What is missing is
   * waited for once: then all of them are filled, as many at a time as a wallet may have in flight.
   */
  async #tendHoles(wallet: Wallet): Promise<void> {
    const { clock, settings } = this.#context;
    const holes = wallet.book.holes();
    const [nonce] = holes;
    if (nonce === undefined) {
      this.#holes.delete(wallet);
      wallet.awaits = null;
      return;
    }
    // Those below it are on their way.
    if (nonce !== wallet.book.count) return;
    const now = clock();
    let known = this.#holes.get(wallet);
    if (known === undefined || (known.nonce !== nonce && nonce > known.filledTo)) {
      known = { nonce, since: now, filledTo: -1 };
      this.#holes.set(wallet, known);
    }
    if (now - known.since >= Math.min(HOLE_TOLD_MS, settings.stuckAfterMs / 2))
      wallet.awaits = nonce;
    if (now - known.since < settings.stuckAfterMs) return;
    known.filledTo = Math.max(known.filledTo, holes.at(-1) ?? nonce);
    for (const hole of holes.slice(0, settings.maxInFlightPerWallet)) {
      if (await this.#dispatcher.fillHole(wallet, hole)) continue;
      // Not now: after another wait.
      this.#holes.delete(wallet);
      return;
    }
  }
}
