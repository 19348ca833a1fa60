/**
 * The sender as one of several processes on one store sees it. While this process leads it is the sender of its term;
 * otherwise an intent is written into the journal for whoever leads, and waited for by its row. What must hold:
 * 1. Whoever takes an intent, it has one row (its key), and only the leader's sender moves it: invariants 1 to 6 of
 *    sender.ts are the leader's, under the fence.
 * 2. An intent that met the end of a term is neither lost nor doubled: it is looked for, and written, under its key.
 * 3. What a term that has ended remembers is told to nobody: the rows are asked instead.
 */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import { unfenced } from '../store/lead.ts';
import {
  type Entry,
  hasReached,
  isSubmitted,
  publicState,
  refusal,
  storedIntent,
} from './entry.ts';
import { insertIntent, Sequence } from './insert.ts';
import { checkedIntent } from './intent.ts';
import { isNotOurs, Journal } from './journal.ts';
import type { SenderTables } from './tables.ts';
import type { Intent, IntentState, Sender, SenderStatus, SubmitOptions } from './types.ts';
import { JournalWatch } from './watch.ts';

export type SharedSender = Sender & {
  /** Passes on what a term's sender tells; call before that one starts. */
  follow(term: Sender): void;
};

type Listener = Parameters<Sender['onChange']>[0];

const DEFAULT_SUBMIT_MS = 15_000;

export function createSharedSender(options: {
  db: Kysely<SenderTables>;
  /** Those that a leader sends from. */
  wallets: readonly Address[];
  /** Most intents that may wait for a nonce; more are refused. */
  queueLimit: number;
  /** Unix milliseconds. */
  now: () => number;
  /** The sender of the term in which this process leads; null as soon as it does not. */
  leading: () => Sender | null;
}): SharedSender {
  const { db, queueLimit, now, leading } = options;
  const rows = new Journal(db, now);
  const watch = new JournalWatch(db, rows);
  const sequence = new Sequence();
  const listeners = new Set<Listener>();
  let stopped = false;

  const stateOf = async (key: string): Promise<IntentState | null> => {
    const entry = await rows.load(key);
    return entry === null ? null : publicState(entry);
  };
  /** Waits by the row; null for an unknown key. */
  const watched = async (
    key: string,
    reached: (entry: Entry) => boolean,
    timeoutMs: number,
  ): Promise<IntentState | null> => {
    if ((await rows.load(key)) === null) return null;
    await watch.until(key, reached, timeoutMs);
    return await stateOf(key);
  };

  /** Writes the row for the leader; null when it stands. */
  const handOver = async (
    intent: Intent,
    guard: SubmitOptions['guard'],
  ): Promise<IntentState | null> => {
    if ((await rows.load(intent.key)) !== null) return null;
    if (stopped) return refusal('stopping', 'the sender takes no new intents');
    if ((await queuedCount(db)) >= queueLimit) {
      return refusal('queue_full', `${queueLimit} intents wait already`);
    }
    const inserted = await insertIntent(db, unfenced, sequence, { intent, now: now(), guard });
    return inserted.tag === 'vetoed' ? refusal('withdrawn', 'its caller took it back') : null;
  };

  /** By the sender of this process; null when the lead was lost meanwhile, and what it says with it. */
  const submitLeading = async (
    own: Sender,
    intent: Intent,
    submitOptions: SubmitOptions,
  ): Promise<IntentState | null> => {
    try {
      const state = await own.submit(intent, submitOptions);
      return leading() === own ? state : null;
    } catch (error) {
      // Under this lead nothing was written, and nothing will be.
      if (isNotOurs(error)) return null;
      throw error;
    }
  };

  return {
    start: async () => undefined,
    freshen: async () => await leading()?.freshen(),
    submit: async (asked, submitOptions = {}) => {
      const intent = checkedIntent(asked);
      const { timeoutMs = DEFAULT_SUBMIT_MS, guard } = submitOptions;
      const until = now() + timeoutMs;
      const own = leading();
      const state = own === null ? null : await submitLeading(own, intent, submitOptions);
      if (state !== null) return state;
      const refused = await handOver(intent, guard);
      if (refused !== null) return refused;
      const later = await watched(intent.key, isSubmitted, until - now());
      if (later === null) throw new Error(`intent ${intent.key} vanished from the journal`);
      return later;
    },
    wait: async (key, wanted, timeoutMs) => {
      const until = now() + timeoutMs;
      const own = leading();
      if (own !== null) {
        const state = await own.wait(key, wanted, timeoutMs);
        if (leading() === own) return state;
      }
      return await watched(key, hasReached(wanted), until - now());
    },
    get: async (key) => {
      const own = leading();
      if (own !== null) return await own.get(key);
      const entry = await rows.load(key);
      return entry === null ? null : storedIntent(entry);
    },
    recent: async (limit) => (await rows.recent(limit)).map(storedIntent),
    status: () => leading()?.status() ?? standbyStatus(options.wallets),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    follow: (term) => {
      term.onChange((change) => {
        for (const listener of listeners) listener(change);
      });
    },
    stop: async () => {
      stopped = true;
      await watch.stop();
    },
  };
}

async function queuedCount(db: Kysely<SenderTables>): Promise<number> {
  const row = await db
    .selectFrom('sender_intent')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('phase', '=', 'queued')
    .where('confirmed', '=', 0)
    .executeTakeFirst();
  return row?.count ?? 0;
}

/** What is in flight, and which wallet can pay, is the leader's to know. */
function standbyStatus(wallets: readonly Address[]): SenderStatus {
  return {
    wallets: wallets.map((address) => ({
      address,
      balanceWei: null,
      inFlight: 0,
      usable: true,
      reason: null,
    })),
    queued: 0,
    inFlight: 0,
    oldestUnsettledMs: 0,
  };
}
