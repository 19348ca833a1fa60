/**
 * The loop's one turn: what does the chain say about everything that is not final? One batched read for the head, the
 * counts and due balances; a second one, only when something moved, for receipts.
 */
import type { Address } from 'viem';
import type { Broadcaster } from './broadcast.ts';
import { quantity } from './classify.ts';
import { findConsumer } from './consumer.ts';
import type { SenderContext } from './context.ts';
import { believedCount } from './counts.ts';
import type { Dispatcher } from './dispatch.ts';
import { type Entry, isIncluded, liveAttempts, type Receipt } from './entry.ts';
import { type HeadChange, latestBlock, readBlock } from './head.ts';
import { isNotOurs } from './journal.ts';
import { type ReceiptView, readReceipt, readReceipts, receiptCall } from './receipts.ts';
import type { Replacer } from './replace.ts';
import { balanceCall, countCall, noteBalance, noteCount } from './sync.ts';
import type { Wallet } from './wallets.ts';

/** `idle`: nothing is unsettled and no read was made. `quiet`: nothing moved. */
export type TickResult = 'idle' | 'quiet' | 'changed';

type Absence = { since: number; reads: number; searchAt: number; searches: number };

const HEAD_STILL_MS = 3_000;
const BUSY_BALANCE_MS = 2_000;
const UNFUNDED_BALANCE_MS = 5_000;
const RECEIPTS_PER_TICK = 100;
/** Null receipts in a row before an included transaction counts as reorganised away. */
const ORPHAN_READS = 3;
/** Null receipts in a row, and their least span, before the consumer of a nonce is searched. */
const MISSING_READS = 3;
const MISSING_MS = 1_500;
/** When nothing can be proven about a consumed nonce for this long, its intent is given up, never sent anew. */
const GIVE_UP_MS = 3_600_000;
/** A wallet that loses this many nonces for one intent to somebody else is not usable for it. */
const MOST_DISPLACEMENTS = 5;

export class Reconciler {
  readonly #context: SenderContext;
  readonly #broadcaster: Broadcaster;
  readonly #dispatcher: Dispatcher;
  readonly #replacer: Replacer;
  /** Entries without the receipt that their consumed nonce must have; bounded by what is active. */
  readonly #absences = new Map<string, Absence>();
  readonly #orphanReads = new Map<string, number>();
  #headMovedAt = 0;
  #doubtedAt = 0;

  constructor(
    context: SenderContext,
    broadcaster: Broadcaster,
    dispatcher: Dispatcher,
    replacer: Replacer,
  ) {
    this.#context = context;
    this.#broadcaster = broadcaster;
    this.#dispatcher = dispatcher;
    this.#replacer = replacer;
  }

  async tick(): Promise<TickResult> {
    this.#prune();
    const entries = [...this.#context.journal.active()];
    const busy = this.#busyWallets(entries);
    const poor = this.#context.wallets
      .all()
      .filter((wallet) => wallet.account !== null && wallet.problem() !== null);
    if (entries.length === 0 && poor.length === 0) return 'idle';
    const change = await this.#read(busy, poor);
    await this.#doubtEndpoint(change);
    if (change === null || change === 'behind') return 'quiet';
    let moved = change !== 'same';
    moved = (await this.#settle(change)) || moved;
    await this.#dispatcher.expireQueue();
    for (const wallet of busy) await this.#replacer.tend(wallet);
    await this.#broadcaster.resend(this.#unmined());
    return moved ? 'changed' : 'quiet';
  }

  /** A head that stands still, or an answer from the past: perhaps another endpoint is further. */
  async #doubtEndpoint(change: HeadChange | null): Promise<void> {
    const now = this.#context.clock();
    if (change === 'advanced' || change === 'reorganised') this.#headMovedAt = now;
    const still = now - Math.max(this.#headMovedAt, this.#doubtedAt) > HEAD_STILL_MS;
    if (!still) return;
    this.#doubtedAt = now;
    await this.#context.rpc.preferFreshest();
  }

  #prune(): void {
    this.#broadcaster.prune();
    for (const map of [this.#absences, this.#orphanReads]) {
      for (const key of map.keys()) if (this.#context.journal.peek(key) === null) map.delete(key);
    }
  }

  #busyWallets(entries: readonly Entry[]): Wallet[] {
    const addresses = new Set<Address>();
    for (const { wallet } of entries) if (wallet !== null) addresses.add(wallet);
    return [...addresses].map((address) => this.#context.wallets.of(address));
  }

  async #read(busy: readonly Wallet[], poor: readonly Wallet[]): Promise<HeadChange | null> {
    const { rpc, head, clock, metrics } = this.#context;
    const start = clock();
    const due = new Set([
      ...busy.filter(({ balanceAt }) => start - balanceAt >= BUSY_BALANCE_MS),
      ...poor.filter(({ balanceAt }) => start - balanceAt >= UNFUNDED_BALANCE_MS),
    ]);
    const balances = [...due];
    const answers = await rpc.batch([
      latestBlock,
      ...busy.map(({ address }) => countCall(address, 'latest')),
      ...balances.map(({ address }) => balanceCall(address)),
    ]);
    const block = readBlock(answers[0]);
    if (block === null) {
      metrics.event('rpc_failure');
      return null;
    }
    const change = head.observe(block, clock());
    // An answer from the past: its counts and balances are of that past too.
    if (change === 'behind') return change;
    const numbers = answers
      .slice(1)
      .map((answer) => (answer.tag === 'result' ? quantity(answer.result) : null));
    for (const [index, wallet] of busy.entries()) {
      const count = numbers[index];
      if (count === null || count === undefined) return null;
      const call = countCall(wallet.address, 'latest');
      const believed = await believedCount(this.#context, wallet, call, Number(count));
      if (believed === null) return null;
      noteCount(this.#context, wallet, believed);
      wallet.syncedAt = clock();
    }
    for (const [index, wallet] of balances.entries()) {
      const balance = numbers[busy.length + index];
      if (balance !== null && balance !== undefined) noteBalance(this.#context, wallet, balance);
    }
    return change;
  }

  /** Looks up what the counts say must have a receipt, and what must be looked at again. */
  async #settle(change: HeadChange): Promise<boolean> {
    const due = [...this.#context.journal.active()]
      .filter((entry) => this.#isDue(entry, change))
      .slice(0, RECEIPTS_PER_TICK);
    if (due.length === 0) return false;
    const views = await readReceipts(this.#context.rpc, due);
    let moved = false;
    const faults: unknown[] = [];
    for (const [index, entry] of due.entries()) {
      const view = views[index];
      if (!view || view.tag === 'unknown') continue;
      try {
        const settled = isIncluded(entry.phase)
          ? await this.#recheck(entry, view)
          : await this.#include(entry, view);
        moved = settled || moved;
      } catch (error) {
        if (isNotOurs(error)) throw error;
        // A fault of the store about one row: the next turn tries again, and the others do not wait for it.
        faults.push(error);
      }
    }
    if (faults.length > 0) {
      const [err] = faults;
      this.#context.logger.error({ err, count: faults.length }, 'outcomes could not be stored');
    }
    return moved;
  }

  #isDue(entry: Entry, change: HeadChange): boolean {
    const { phase, wallet, nonce } = entry;
    if (wallet === null || nonce === null || phase === 'claimed') return false;
    const consumed = nonce < this.#context.wallets.of(wallet).book.count;
    if (!isIncluded(phase)) return consumed;
    const doubtful = !consumed || change === 'reorganised' || this.#orphanReads.has(entry.key);
    return doubtful || this.#isDeep(entry);
  }

  /** Deep enough in the chain, or unchanged for long enough on a chain that makes no blocks. */
  #isDeep(entry: Entry): boolean {
    const { head, settings, clock } = this.#context;
    if (entry.receipt === null || head.block === null) return false;
    const depth = head.block.number - entry.receipt.blockNumber + 1n;
    return (
      depth >= BigInt(settings.confirmations) ||
      clock() - entry.updatedAt >= settings.confirmAfterMs
    );
  }

  async #include(entry: Entry, view: ReceiptView): Promise<boolean> {
    if (view.tag === 'found') return await this.#storeReceipt(entry, view.receipt);
    return await this.#explainAbsence(entry);
  }

  async #storeReceipt(entry: Entry, receipt: Receipt): Promise<boolean> {
    const { journal, metrics, clock, logger } = this.#context;
    this.#context.onDurablePoint('receipt_seen');
    const stored = await journal.apply(entry.key, { type: 'receipt', receipt });
    this.#absences.delete(entry.key);
    if (stored === null) return false;
    this.#context.onDurablePoint('receipt_stored');
    if (stored.wallet !== null && stored.nonce !== null) {
      this.#context.wallets.of(stored.wallet).book.settle(stored.nonce);
    }
    this.#broadcaster.forget(entry.key);
    metrics.settled(stored.intent.kind, stored.phase);
    metrics.inclusionSeconds((clock() - stored.createdAt) / 1_000);
    logger.info(
      { intent: entry.key, outcome: stored.phase, hash: receipt.hash, gasUsed: receipt.gasUsed },
      'transaction included',
    );
    return true;
  }

  async #recheck(entry: Entry, view: ReceiptView): Promise<boolean> {
    const { journal, logger, metrics } = this.#context;
    if (view.tag === 'found') {
      this.#orphanReads.delete(entry.key);
      if (view.receipt.blockHash !== entry.receipt?.blockHash) {
        logger.warn(
          { intent: entry.key, hash: view.receipt.hash },
          'included in another block now',
        );
        return await this.#storeReceipt(entry, view.receipt);
      }
      if (!this.#isDeep(entry)) return false;
      this.#context.onDurablePoint('confirmation_seen');
      const confirmed = await journal.apply(
        entry.key,
        { type: 'confirmed' },
        // The depth was judged for this very receipt.
        ({ receipt }) => receipt?.blockHash === view.receipt.blockHash,
      );
      if (confirmed !== null) this.#context.onDurablePoint('confirmation_stored');
      return confirmed !== null;
    }
    const reads = (this.#orphanReads.get(entry.key) ?? 0) + 1;
    this.#orphanReads.set(entry.key, reads);
    if (reads < ORPHAN_READS) return false;
    this.#orphanReads.delete(entry.key);
    const orphaned = await journal.apply(entry.key, { type: 'orphaned' });
    if (orphaned === null || orphaned.wallet === null || orphaned.nonce === null) return false;
    this.#context.wallets.of(orphaned.wallet).book.restore(orphaned.nonce, orphaned.key);
    metrics.event('reorg');
    logger.warn({ intent: entry.key, nonce: orphaned.nonce }, 'a reorg removed the transaction');
    return true;
  }

  /** The nonce is consumed and none of the intent's own transactions has a receipt: lag, or somebody else's? */
  async #explainAbsence(entry: Entry): Promise<boolean> {
    const { clock, rpc, head, logger } = this.#context;
    const now = clock();
    const absence = this.#absences.get(entry.key) ?? {
      since: now,
      reads: 0,
      searchAt: 0,
      searches: 0,
    };
    absence.reads += 1;
    this.#absences.set(entry.key, absence);
    const span = now - absence.since;
    const early = absence.reads < MISSING_READS || span < MISSING_MS;
    if (early || now < absence.searchAt || entry.wallet === null || entry.nonce === null) {
      return false;
    }
    absence.searches += 1;
    absence.searchAt = now + Math.min(1_000 * 2 ** absence.searches, 30_000);
    if (head.block === null) return false;
    const consumer = await findConsumer(rpc, entry.wallet, entry.nonce, head.block.number);
    if (consumer.tag === 'unknown') {
      if (span < GIVE_UP_MS) return false;
      logger.error(
        { intent: entry.key, nonce: entry.nonce, reason: consumer.message },
        'the nonce is consumed and nothing shows by what: given up, not sent anew',
      );
      return await this.#displace(entry, false);
    }
    const own = liveAttempts(entry).find(({ hash }) => consumer.blockHashes.has(hash));
    if (own) {
      logger.warn({ intent: entry.key, hash: own.hash }, 'mined, but its receipt is not there yet');
      return false;
    }
    if (consumer.hash !== null) await this.#correctOther(entry.key, consumer.hash);
    const depth = (this.#context.head.block?.number ?? 0n) - consumer.blockNumber + 1n;
    const { confirmations, confirmAfterMs } = this.#context.settings;
    if (depth < BigInt(confirmations) && span < confirmAfterMs && entry.phase !== 'queued') {
      return false;
    }
    logger.warn(
      { intent: entry.key, nonce: entry.nonce, consumer: consumer.hash },
      'another transaction took the nonce',
    );
    return await this.#displace(entry, true);
  }

  /** The consumer may be bytes of ours that were believed never to have left. */
  async #correctOther(key: string, hash: `0x${string}`): Promise<void> {
    const { journal, rpc } = this.#context;
    const owner = await journal.keyOfHash(hash);
    if (owner === null || owner === key) return;
    const other = await journal.load(owner);
    if (other === null || isIncluded(other.phase)) return;
    const [answer] = await rpc.batch([receiptCall(hash)]);
    const receipt = answer?.tag === 'result' ? readReceipt(answer.result) : null;
    if (receipt !== null) await this.#storeReceipt(other, receipt);
  }

  async #displace(entry: Entry, mayRequeue: boolean): Promise<boolean> {
    const { journal, head, metrics, wallets } = this.#context;
    const { notAfter } = entry.intent;
    const late = notAfter !== undefined && (head.block?.timestamp ?? 0) > notAfter;
    const nonces = new Set(entry.attempts.map(({ wallet, nonce }) => `${wallet}:${nonce}`));
    const requeue = mayRequeue && !late && nonces.size < MOST_DISPLACEMENTS;
    const moved = await journal.apply(
      entry.key,
      { type: 'displaced', requeue },
      ({ nonce, wallet }) => nonce === entry.nonce && wallet === entry.wallet,
    );
    this.#absences.delete(entry.key);
    if (moved === null) return false;
    if (entry.wallet !== null && entry.nonce !== null && entry.phase !== 'queued') {
      wallets.of(entry.wallet).book.settle(entry.nonce);
    }
    this.#broadcaster.forget(entry.key);
    metrics.event('foreign_transaction');
    if (!requeue) metrics.settled(entry.intent.kind, 'superseded');
    return true;
  }

  #unmined(): Entry[] {
    return [...this.#context.journal.active()].filter(({ phase, wallet, nonce }) => {
      if (phase !== 'signed' && phase !== 'broadcast') return false;
      return (
        wallet !== null && nonce !== null && nonce >= this.#context.wallets.of(wallet).book.count
      );
    });
  }
}
