/**
 * Signing and sending. Bytes are stored before they are sent, and an answer is believed only as far as it proves
 * something: what may be out stays out, under the nonce it has.
 */
import type { Hex } from 'viem';
import { keccak256 } from '../keys/keccak.ts';
import { Overtaken } from '../store/lead.ts';
import { classifySend, type SendVerdict } from './classify.ts';
import type { SenderContext } from './context.ts';
import { type Attempt, type Entry, liveAttempts, newestAttempt } from './entry.ts';
import type { Fees } from './fees.ts';
import type { RpcAnswer, RpcCall } from './rpc.ts';
import type { Intent } from './types.ts';
import type { Wallet } from './wallets.ts';

/** What is remembered about an intent in flight between ticks; lost at a restart without harm. */
export type SendNote = {
  /** When the same bytes go out again, unix ms. */
  resendAt: number;
  /** Answers in a row that were not an acceptance. */
  failures: number;
  /** Answers in a row by which a node rejected these bytes, none having taken them. */
  rejections: number;
  /** The bytes that a node has: what it says when they come again is no rejection, in whatever words. */
  taken: Hex | null;
  /** The fee is below what the chain or the pool takes now. */
  underpriced: boolean;
  /** When its nonce became the next one of its wallet, unix ms; 0 before. */
  headOfLineSince: number;
  /** Its time ran out before it was known to be out: only a cancel may go out now. */
  abandoned: boolean;
  /** A send is on its way; the loop neither repeats nor replaces it meanwhile. */
  sending: boolean;
  /** A node has answered these bytes, if only with an error: they can no longer be said never to have arrived. */
  answered: boolean;
};

type Signing = {
  wallet: Wallet;
  nonce: number;
  role: Attempt['role'];
  gas: bigint;
  fees: Fees;
};

export type SendOutcome = 'out' | 'released' | 'held';

/** These fields cannot be made into a transaction; no attempt at them will ever succeed. */
export class SigningError extends Error {
  constructor(key: string, cause: unknown) {
    super(`intent ${key} cannot be signed`, { cause });
    this.name = 'SigningError';
  }
}

const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 30_000;
const LONGEST_REBROADCAST_MS = 60_000;
const RESENDS_PER_TICK = 50;
export const REJECTIONS_UNTIL_CANCEL = 3;

export class Broadcaster {
  readonly #context: SenderContext;
  /** One note per intent in flight; removed when it leaves flight. */
  readonly #notes = new Map<string, SendNote>();

  #hasEnded = false;

  constructor(context: SenderContext) {
    this.#context = context;
  }

  /** For good: nothing is signed or sent any more, whoever asks. */
  end(): void {
    this.#hasEnded = true;
  }

  note(key: string): SendNote {
    const known = this.#notes.get(key);
    if (known) return known;
    const fresh: SendNote = {
      resendAt: 0,
      failures: 0,
      rejections: 0,
      taken: null,
      underpriced: false,
      headOfLineSince: 0,
      abandoned: false,
      sending: false,
      answered: false,
    };
    this.#notes.set(key, fresh);
    return fresh;
  }

  forget(key: string): void {
    this.#notes.delete(key);
  }

  /** Drops what late answers left behind about intents that are settled. */
  prune(): void {
    for (const key of this.#notes.keys()) {
      if (this.#context.journal.peek(key) === null) this.#notes.delete(key);
    }
  }

  /** The first bytes of an intent that nobody knows yet. Null without the wallet's key. @throws SigningError */
  async first(
    intent: Intent,
    wallet: Wallet,
    nonce: number,
    gas: bigint,
    fees: Fees,
  ): Promise<Attempt | null> {
    const signing = { wallet, nonce, role: 'execute', gas, fees } as const;
    const attempt = await this.#sign(intent.key, intent, signing);
    if (attempt !== null) this.#context.onDurablePoint('signed');
    return attempt;
  }

  /** They are on disk with their intent; sent by who stored them. */
  firstStored(entry: Entry, wallet: Wallet, attempt: Attempt): void {
    this.#context.onDurablePoint('persisted');
    this.#isStored(entry, wallet, attempt);
  }

  /**
   * Signs an attempt for another nonce and stores both as one; the newest bytes are then what is sent. Null when the
   * entry moved on meanwhile. Call inside the wallet's turn.
   */
  async claim(
    entry: Entry,
    wallet: Wallet,
    nonce: number,
    gas: bigint,
    fees: Fees,
  ): Promise<Entry | null> {
    const attempt = await this.#sign(entry.key, entry.intent, {
      wallet,
      nonce,
      role: 'execute',
      gas,
      fees,
    });
    if (attempt === null) return null;
    if (entry.attempts.length === 0) this.#context.onDurablePoint('signed');
    const claim = { type: 'claimed', wallet: wallet.address, nonce, attempt } as const;
    const stored = await this.#context.journal.apply(entry.key, claim);
    if (stored === null) return null;
    this.#context.onDurablePoint('persisted');
    this.#isStored(entry, wallet, attempt);
    return stored;
  }

  /**
   * Signs a replacement for the nonce that the entry holds and stores it; the newest bytes are then what is sent.
   * Null when the entry moved on meanwhile. Call inside the wallet's turn.
   */
  async replace(
    entry: Entry,
    wallet: Wallet,
    role: Attempt['role'],
    gas: bigint,
    fees: Fees,
  ): Promise<{ entry: Entry; attempt: Attempt } | null> {
    const { nonce, key, intent } = entry;
    if (nonce === null) return null;
    const attempt = await this.#sign(key, intent, { wallet, nonce, role, gas, fees });
    if (attempt === null) return null;
    const stored = await this.#context.journal.apply(key, { type: 'persisted', attempt });
    if (stored === null) return null;
    this.#context.onDurablePoint(role === 'cancel' ? 'cancel_persisted' : 'replacement_persisted');
    this.#isStored(entry, wallet, attempt);
    return { entry: stored, attempt };
  }

  /** Its own send comes first; the loop repeats it only when that one does not come back. */
  #isStored({ key, intent }: Entry, wallet: Wallet, { nonce, role, gas, maxFee }: Attempt): void {
    this.note(key).resendAt = this.#context.clock() + this.#context.settings.rebroadcastMs;
    wallet.setCost(nonce, gas * maxFee + (role === 'execute' ? intent.value : 0n));
  }

  /** Null without the wallet's key. @throws SigningError */
  async #sign(
    key: string,
    intent: Intent,
    { wallet, nonce, role, gas, fees }: Signing,
  ): Promise<Attempt | null> {
    if (wallet.account === null || this.#hasEnded) return null;
    const execute = role === 'execute';
    let raw: Hex;
    try {
      raw = await wallet.account.signTransaction({
        type: 'eip1559',
        chainId: this.#context.chainId,
        nonce,
        to: execute ? intent.to : wallet.address,
        data: execute ? intent.data : '0x',
        value: execute ? intent.value : 0n,
        gas,
        maxFeePerGas: fees.maxFee,
        maxPriorityFeePerGas: fees.tip,
      });
    } catch (error) {
      throw new SigningError(key, error);
    }
    return {
      hash: keccak256(raw),
      wallet: wallet.address,
      nonce,
      role,
      raw,
      gas,
      maxFee: fees.maxFee,
      tip: fees.tip,
      createdAt: this.#context.clock(),
    };
  }

  /** Sends the newest bytes to the first endpoint that takes them. @throws Overtaken before anything is sent */
  async send(entry: Entry, wallet: Wallet): Promise<SendOutcome> {
    const attempt = newestAttempt(entry);
    if (attempt === null || this.#hasEnded) return 'held';
    const { fence, rpc } = this.#context;
    if (!fence.holds()) throw new Overtaken();
    const note = this.note(entry.key);
    note.sending = true;
    let answers: readonly RpcAnswer[];
    try {
      answers = await rpc.untilResult(sendCall(attempt), () => fence.holds() && !this.#hasEnded);
    } finally {
      note.sending = false;
    }
    const first = entry.attempts.length === 1;
    this.#context.onDurablePoint(
      attempt.role === 'cancel' ? 'cancel_sent' : first ? 'sent' : 'replacement_sent',
    );
    return await this.#conclude(entry, attempt, wallet, classifySend(answers));
  }

  /** Sends the same bytes again for every entry that is due, in one request to each endpoint. */
  async resend(entries: readonly Entry[]): Promise<void> {
    const now = this.#context.clock();
    const due = entries
      .filter(({ key }) => {
        const { resendAt, abandoned, sending } = this.note(key);
        return resendAt <= now && !abandoned && !sending;
      })
      .flatMap((entry) => {
        const attempt = newestAttempt(entry);
        return attempt === null ? [] : [{ entry, attempt }];
      })
      .slice(0, RESENDS_PER_TICK);
    if (due.length === 0 || this.#hasEnded) return;
    if (!this.#context.fence.holds()) throw new Overtaken();
    this.#context.metrics.event('rebroadcast');
    this.#context.logger.debug({ count: due.length }, 'sending the same bytes again');
    const answers = await this.#context.rpc.everywhere(due.map(({ attempt }) => sendCall(attempt)));
    for (const [index, { entry, attempt }] of due.entries()) {
      const wallet = this.#context.wallets.of(attempt.wallet);
      await this.#conclude(entry, attempt, wallet, classifySend(answers[index] ?? []));
    }
  }

  async #conclude(
    entry: Entry,
    attempt: Attempt,
    wallet: Wallet,
    verdict: SendVerdict,
  ): Promise<SendOutcome> {
    const { settings, logger, clock } = this.#context;
    const note = this.note(entry.key);
    const line = { intent: entry.key, hash: attempt.hash, nonce: attempt.nonce };
    if (verdict.tag !== 'not_delivered') note.answered = true;
    const has = verdict.tag === 'rejected' && note.taken === attempt.hash;
    if (verdict.tag === 'accepted' || has) {
      note.taken = attempt.hash;
      note.failures = 0;
      note.rejections = 0;
      note.underpriced = false;
      const wait = Math.max(settings.rebroadcastMs, clock() - attempt.createdAt);
      note.resendAt = clock() + Math.min(wait, LONGEST_REBROADCAST_MS);
      await this.#markOut(entry);
      return 'out';
    }
    note.failures += 1;
    const backoff = FIRST_BACKOFF_MS * 2 ** Math.min(note.failures - 1, 10);
    note.resendAt = clock() + Math.min(backoff, LONGEST_BACKOFF_MS);
    // Expected: sent again in the moment in which it was mined.
    const expected = verdict.tag === 'nonce_consumed' && entry.phase === 'broadcast';
    logger[note.failures === 1 && !expected ? 'warn' : 'debug'](
      { ...line, verdict: verdict.tag, reason: verdict.message, failures: note.failures },
      'the node did not take the transaction',
    );
    switch (verdict.tag) {
      case 'not_delivered':
        this.#context.metrics.event('not_delivered');
        return (await this.#release(entry, attempt, wallet)) ? 'released' : 'held';
      case 'unknown':
      case 'nonce_consumed':
        // Both may mean that it is in the chain already: the next tick looks.
        await this.#markOut(entry);
        this.#context.nudge();
        return 'out';
      case 'underpriced':
        note.underpriced = true;
        this.#context.nudge();
        return 'held';
      case 'insufficient_funds':
        // The balance in memory was wrong; the next tick reads it again.
        wallet.balanceAt = 0;
        this.#context.nudge();
        return 'held';
      case 'rejected':
        note.rejections += 1;
        return 'held';
    }
    return verdict satisfies never;
  }

  async #markOut(entry: Entry): Promise<void> {
    const moved = await this.#context.journal.apply(entry.key, { type: 'sent' });
    if (moved === null) return;
    this.#context.metrics.broadcastSeconds((this.#context.clock() - entry.createdAt) / 1_000);
    this.#context.onDurablePoint('broadcast_stored');
  }

  /**
   * Gives the nonce back when the bytes certainly went nowhere and no later nonce was given: the next intent takes it.
   * This intent stays bound to it, and takes another only after somebody else's transaction consumed it.
   */
  async #release(entry: Entry, attempt: Attempt, wallet: Wallet): Promise<boolean> {
    return await wallet.inTurn(async () => {
      const certain = !this.note(entry.key).answered && liveAttempts(entry).length === 1;
      if (!certain || !wallet.book.isTail(attempt.nonce)) return false;
      const released = await this.#context.journal.apply(
        entry.key,
        { type: 'released' },
        ({ phase, attempts }) => phase === 'signed' && attempts.at(-1)?.hash === attempt.hash,
      );
      if (released === null) return false;
      wallet.book.release(attempt.nonce);
      this.forget(entry.key);
      return true;
    });
  }
}

function sendCall(attempt: Attempt): RpcCall {
  return { method: 'eth_sendRawTransaction', params: [attempt.raw] };
}
