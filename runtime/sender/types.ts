/**
 * What the one sender promises to keeper and relayer (architecture.md, The one sender):
 * a row is written before anything is broadcast; one intent is executed at most once; on doubt the same bytes go out
 * again; an intent never gets a second nonce while its first may still land.
 */
import type { Address, Hex } from 'viem';

/** JSON that a caller may keep with its intent; chain amounts as decimal strings. */
export type IntentMeta = { readonly [name: string]: string | number | boolean | null };

/** Something to execute exactly once. */
export type Intent = {
  /** Unique in the journal for ever; submitting a known key again returns what that intent came to. */
  key: string;
  /** Bounded label for metrics and logs: "relay", "fill", "arm", "sweep" … */
  kind: string;
  to: Address;
  data: Hex;
  value: bigint;
  /** The one wallet that may send it, where that matters: a transfer of what this wallet holds. Absent: any. */
  from?: Address;
  /**
   * Gas limit, headroom included, when the caller has just simulated as the wallet; otherwise the sender estimates
   * (which is its simulation) and adds headroom. A revert there refuses the intent before a nonce is claimed.
   */
  gas?: bigint;
  /** Chain time (unix seconds) after which it must not be broadcast for the first time. */
  notAfter?: number;
  /** The most that maxFeePerGas may ever be raised to; absent: the sender's configured cap alone. */
  maxFeePerGas?: bigint;
  meta?: IntentMeta;
};

/** Why an intent was refused before anything could have been broadcast. */
export type Refusal =
  | 'reverted_in_simulation'
  | 'expired'
  | 'no_wallet'
  | 'insufficient_eth'
  | 'fee_cap'
  | 'rejected_by_node'
  | 'rpc_unavailable'
  | 'queue_full'
  | 'withdrawn'
  | 'stopping';

export type MinedReceipt = {
  hash: Hex;
  blockNumber: bigint;
  blockHash: Hex;
  gasUsed: bigint;
  effectiveGasPrice: bigint;
  /** True once the confirmation depth has passed; until then a reorg may return the intent to `broadcast`. */
  confirmed: boolean;
};

/** Every state that a caller must branch on. `refused`, `cancelled` and `superseded` never executed. */
export type IntentState =
  | { tag: 'queued' }
  | { tag: 'broadcast'; wallet: Address; nonce: number; hash: Hex; hashes: readonly Hex[] }
  | ({ tag: 'mined'; wallet: Address; nonce: number } & MinedReceipt)
  | ({ tag: 'reverted'; wallet: Address; nonce: number } & MinedReceipt)
  | { tag: 'refused'; reason: Refusal; message: string; revertData: Hex | null }
  | { tag: 'cancelled'; wallet: Address; nonce: number; hash: Hex }
  | { tag: 'superseded'; wallet: Address; nonce: number };

export type StoredIntent = {
  intent: Intent;
  state: IntentState;
  /** Unix milliseconds by this machine. */
  createdAt: number;
  updatedAt: number;
};

export type WalletStatus = {
  address: Address;
  balanceWei: bigint | null;
  /** Nonces claimed and not yet settled. */
  inFlight: number;
  usable: boolean;
  /** Why not usable, in words for an operator. */
  reason: string | null;
};

export type SenderStatus = {
  /** Those that take any work. */
  wallets: readonly WalletStatus[];
  /** Those that send only what names them; absent: none. */
  namedOnly?: readonly WalletStatus[];
  queued: number;
  inFlight: number;
  oldestUnsettledMs: number;
};

export type WaitUntil = 'broadcast' | 'settled' | 'confirmed';

export type SubmitOptions = {
  timeoutMs?: number;
  /**
   * Asked within the transaction that writes a new row, with that transaction: false, and nothing is written; the
   * answer is the refusal `withdrawn`. For callers whose right to submit is a row of the same store.
   */
  guard?: (trx: unknown) => Promise<boolean>;
};

export interface Sender {
  /** Repairs the journal against the chain, then serves. Throws when the store or chain cannot be read in time. */
  start(): Promise<void>;
  /**
   * Writes the intent, and resolves once it is broadcast, refused or otherwise known, or when `timeoutMs` has passed
   * with the state that holds then. Idempotent by key. Never throws for an outcome; throws only when the row itself
   * could not be written (then nothing was or will be sent).
   */
  submit(intent: Intent, options?: SubmitOptions): Promise<IntentState>;
  /** Reads now what a claim would have to ask for: what is submitted next need not wait for it. Never throws. */
  freshen(): Promise<void>;
  /** Resolves at the wanted state or at the time-out, with the state that holds then; null for an unknown key. */
  wait(key: string, until: WaitUntil, timeoutMs: number): Promise<IntentState | null>;
  get(key: string): Promise<StoredIntent | null>;
  /** Newest first. */
  recent(limit: number): Promise<StoredIntent[]>;
  status(): SenderStatus;
  /** Called after each durable change of state; for metrics, policies and tests. Returns the unsubscribe. */
  onChange(
    listener: (change: { key: string; kind: string; state: IntentState }) => void,
  ): () => void;
  /** Accepts nothing new; waits up to `drainMs` for what is in flight; the journal carries the rest. */
  stop(drainMs: number): Promise<void>;
}
