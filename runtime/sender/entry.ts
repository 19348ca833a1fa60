/**
 * One intent in the journal and how it may move. Pure: an event either leads to the next entry, or does not apply.
 *
 *   queued ─► signed ─► broadcast ─► mined | reverted | cancelled ─► (confirmed)
 *     │ ▲        │          │  ▲                 │
 *     │ └─release┘          │  └────orphaned─────┘
 *     │ └────────displaced──┤
 *     ▼                     ▼
 *   refused             superseded
 *
 * `signed`: a nonce is claimed, and the bytes for it are stored and may be out. `broadcast`: at least one node took them,
 * or the answer was ambiguous. `claimed`: a nonce is held and no bytes exist, as rows of before say.
 */
import type { Address, Hex } from 'viem';
import type { Intent, IntentState, Refusal, StoredIntent, WaitUntil } from './types.ts';

export type Phase =
  | 'queued'
  | 'claimed'
  | 'signed'
  | 'broadcast'
  | 'mined'
  | 'reverted'
  | 'cancelled'
  | 'superseded'
  | 'refused';

/** Signed bytes for an intent's nonce: its execution, or the empty self-transfer that takes the nonce away. */
export type Attempt = {
  hash: Hex;
  wallet: Address;
  nonce: number;
  role: 'execute' | 'cancel';
  raw: Hex;
  gas: bigint;
  maxFee: bigint;
  tip: bigint;
  createdAt: number;
};

export type Receipt = {
  hash: Hex;
  success: boolean;
  blockNumber: bigint;
  blockHash: Hex;
  gasUsed: bigint;
  effectiveGasPrice: bigint;
};

export type Entry = {
  key: string;
  seq: number;
  /** Compare-and-set guard of the row. */
  version: number;
  intent: Intent;
  phase: Phase;
  /**
   * The nonce that is held; in `queued` the nonce that its existing bytes are bound to: the intent may take only that
   * one until something else has consumed it.
   */
  wallet: Address | null;
  nonce: number | null;
  receipt: Receipt | null;
  confirmed: boolean;
  refusal: { reason: Refusal; message: string; revertData: Hex | null } | null;
  createdAt: number;
  updatedAt: number;
  /** Oldest first, of every nonce it ever had. */
  attempts: readonly Attempt[];
};

export type EntryEvent =
  /** With the bytes that are signed for it; without where they exist already. */
  | { type: 'claimed'; wallet: Address; nonce: number; attempt?: Attempt }
  | { type: 'persisted'; attempt: Attempt }
  | { type: 'sent' }
  | { type: 'released' }
  | { type: 'refused'; reason: Refusal; message: string; revertData?: Hex | null }
  | { type: 'receipt'; receipt: Receipt }
  | { type: 'orphaned' }
  | { type: 'displaced'; requeue: boolean }
  | { type: 'confirmed' };

/** Holds its nonce and may still land. */
export function isInFlight(phase: Phase): boolean {
  return phase === 'claimed' || phase === 'signed' || phase === 'broadcast';
}

/** A receipt is known; until confirmed it may be undone. */
export function isIncluded(phase: Phase): boolean {
  return phase === 'mined' || phase === 'reverted' || phase === 'cancelled';
}

/** Nothing will change any more. */
export function isFinal(entry: Entry): boolean {
  return entry.confirmed || entry.phase === 'refused' || entry.phase === 'superseded';
}

/** The attempts at the nonce that the entry holds or is bound to. */
export function liveAttempts(entry: Entry): readonly Attempt[] {
  return entry.attempts.filter(
    (attempt) => attempt.nonce === entry.nonce && attempt.wallet === entry.wallet,
  );
}

/** The newest bytes at the current nonce: the only ones that are sent again. */
export function newestAttempt(entry: Entry): Attempt | null {
  return liveAttempts(entry).at(-1) ?? null;
}

/** The next entry, or null when the event does not apply to it (a race that somebody else decided first). */
export function applyEvent(entry: Entry, event: EntryEvent, now: number): Entry | null {
  const next = move(entry, event);
  return next === null ? null : { ...next, version: entry.version + 1, updatedAt: now };
}

function move(entry: Entry, event: EntryEvent): Entry | null {
  const { phase } = entry;
  switch (event.type) {
    case 'claimed': {
      if (phase !== 'queued') return null;
      const bound = entry.nonce !== null;
      if (bound && (entry.nonce !== event.nonce || entry.wallet !== event.wallet)) return null;
      // Bytes for this very nonce may exist already, from before it was displaced too: they may land, so it is not left.
      const { wallet, nonce, attempt } = event;
      const isOther = (one: Attempt): boolean => one.nonce !== nonce || one.wallet !== wallet;
      if (attempt !== undefined && isOther(attempt)) return null;
      const attempts = attempt === undefined ? entry.attempts : [...entry.attempts, attempt];
      return {
        ...entry,
        attempts,
        phase: attempts.every(isOther) ? 'claimed' : 'signed',
        wallet,
        nonce,
      };
    }
    case 'persisted': {
      const { attempt } = event;
      if (!isInFlight(phase)) return null;
      if (attempt.nonce !== entry.nonce || attempt.wallet !== entry.wallet) return null;
      const attempts = [...entry.attempts, attempt];
      return { ...entry, attempts, phase: phase === 'claimed' ? 'signed' : phase };
    }
    case 'sent':
      return phase === 'signed' ? { ...entry, phase: 'broadcast' } : null;
    case 'released':
      if (phase === 'claimed') return { ...entry, phase: 'queued', wallet: null, nonce: null };
      return phase === 'signed' ? { ...entry, phase: 'queued' } : null;
    case 'refused': {
      if (phase !== 'queued') return null;
      const { reason, message, revertData = null } = event;
      return { ...entry, phase: 'refused', refusal: { reason, message, revertData } };
    }
    case 'receipt':
      return withReceipt(entry, event.receipt);
    case 'orphaned':
      if (!isIncluded(phase) || entry.confirmed) return null;
      return { ...entry, phase: 'broadcast', receipt: null };
    case 'displaced':
      if (
        phase !== 'signed' &&
        phase !== 'broadcast' &&
        !(phase === 'queued' && entry.nonce !== null)
      ) {
        return null;
      }
      return event.requeue
        ? { ...entry, phase: 'queued', wallet: null, nonce: null }
        : { ...entry, phase: 'superseded' };
    case 'confirmed':
      return isIncluded(phase) && !entry.confirmed ? { ...entry, confirmed: true } : null;
  }
  return event satisfies never;
}

function withReceipt(entry: Entry, receipt: Receipt): Entry | null {
  const attempt = entry.attempts.find(({ hash }) => hash === receipt.hash);
  // Even a refused or requeued intent is corrected by a receipt: the chain has the last word.
  if (!attempt || entry.confirmed || entry.phase === 'claimed') return null;
  if (entry.receipt?.hash === receipt.hash && entry.receipt.blockHash === receipt.blockHash) {
    return null;
  }
  const phase =
    attempt.role === 'cancel' ? 'cancelled' : receipt.success ? 'mined' : ('reverted' as const);
  return {
    ...entry,
    phase,
    receipt,
    wallet: attempt.wallet,
    nonce: attempt.nonce,
    refusal: null,
  };
}

/** What a caller is told. Bytes that may be out count as broadcast: only the opposite mistake could cost money. */
export function publicState(entry: Entry): IntentState {
  const { phase, wallet, nonce, receipt, confirmed, refusal } = entry;
  if (phase === 'refused' && refusal) return { tag: 'refused', ...refusal };
  if (phase === 'queued' || phase === 'claimed') return { tag: 'queued' };
  if (wallet === null || nonce === null) throw new Error(`entry in ${phase} without a nonce`);
  if (phase === 'superseded') return { tag: 'superseded', wallet, nonce };
  if (phase === 'signed' || phase === 'broadcast') {
    const hashes = liveAttempts(entry).map(({ hash }) => hash);
    const hash = hashes.at(-1);
    if (hash === undefined) throw new Error(`entry in ${phase} without an attempt`);
    return { tag: 'broadcast', wallet, nonce, hash, hashes };
  }
  if (!receipt) throw new Error(`entry in ${phase} without a receipt`);
  const { hash, blockNumber, blockHash, gasUsed, effectiveGasPrice } = receipt;
  if (phase === 'cancelled') return { tag: 'cancelled', wallet, nonce, hash };
  const mined = { hash, blockNumber, blockHash, gasUsed, effectiveGasPrice, confirmed };
  return { tag: phase === 'mined' ? 'mined' : 'reverted', wallet, nonce, ...mined };
}

/** A row of the journal as a caller sees it. */
export function storedIntent(entry: Entry): StoredIntent {
  const { intent, createdAt, updatedAt } = entry;
  return { intent, state: publicState(entry), createdAt, updatedAt };
}

/** What `submit` waits for: a node has answered, or nothing will be sent. */
export function isSubmitted({ phase }: Entry): boolean {
  return phase !== 'queued' && phase !== 'claimed' && phase !== 'signed';
}

export function hasReached(until: WaitUntil): (entry: Entry) => boolean {
  return (entry) => {
    if (isFinal(entry)) return true;
    if (until === 'broadcast') return entry.phase !== 'queued' && entry.phase !== 'claimed';
    return until === 'settled' && isIncluded(entry.phase);
  };
}

/** The state of an intent that was never written, or never left. */
export function refusal(reason: Refusal, message: string): IntentState {
  return { tag: 'refused', reason, message, revertData: null };
}
