/**
 * The one way in which a new intent comes into the journal. Any process on the store may write one, whether it leads or
 * not: a queued row changes nothing that stands, and only the leader moves it on.
 */
import { randomInt } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { Address } from 'viem';
import { fenced } from '../store/fenced.ts';
import type { Fence } from '../store/lead.ts';
import { applyEvent, type Attempt, type Entry } from './entry.ts';
import { attemptRowOf, rowOf, type SenderTables } from './tables.ts';
import type { Intent } from './types.ts';

/** Asked within the transaction that writes the row: false, and nothing is written. */
export type Guard = (trx: unknown) => Promise<boolean>;

export type Inserted =
  | { tag: 'created'; entry: Entry }
  /** The key has a row already. */
  | { tag: 'known' }
  /** The guard said no. */
  | { tag: 'vetoed' };

/** Sequence numbers in one millisecond: each process keeps to one of them, so that two hardly ever meet. */
const LANES = 1_000;
const MOST_TRIES = 5;

/** Sequence numbers that rise with the clock, so that rows of several processes lie in the order of their coming. */
export class Sequence {
  #last = 0;
  #lane = randomInt(LANES);

  /** Goes on after a number that is taken. */
  after(seq: number): void {
    this.#last = Math.max(this.#last, seq);
  }

  /** @param now unix milliseconds */
  next(now: number): number {
    const tick = Math.max(Math.floor(now), Math.floor(this.#last / LANES) + 1);
    this.#last = tick * LANES + this.#lane;
    return this.#last;
  }

  /** Another process has the same lane. */
  clash(): void {
    this.#lane = randomInt(LANES);
  }
}

/** Somebody else wrote the row: two senders on one journal. Fatal, and nothing may be sent after it. */
export class JournalConflict extends Error {
  constructor(key: string) {
    super(`intent ${key} was changed by another process: two senders share one journal`);
    this.name = 'JournalConflict';
  }
}

/** It was under way when the store failed, which does not say since whether it is there. Fatal: a restart finds out. */
export class JournalUnknown extends Error {
  constructor(key: string) {
    super(`whether intent ${key} is in the journal cannot be found out`);
    this.name = 'JournalUnknown';
  }
}

/** Signed bytes that are written with their intent. */
export type Signed = {
  attempt: Attempt;
  /** Told before a fault is thrown that came with the commit: the row may be there, or come yet. */
  onDoubt: () => void;
};

/**
 * @param asked.signed written with it: it begins as their claim of their nonce
 * @throws JournalConflict where another row holds that nonce, which the caller knew to be free
 */
export async function insertIntent(
  db: Kysely<SenderTables>,
  fence: Fence,
  sequence: Sequence,
  asked: {
    intent: Intent;
    now: number;
    guard?: Guard | undefined;
    signed?: Signed | undefined;
  },
): Promise<Inserted> {
  const { intent, now, guard, signed } = asked;
  const attempt = signed?.attempt;
  let isCommitting = false;
  const work = async (trx: Transaction<SenderTables>): Promise<Inserted> => {
    if (guard !== undefined && !(await guard(trx))) return { tag: 'vetoed' };
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const entry = newEntry(intent, sequence.next(now), now, attempt);
      const { numInsertedOrUpdatedRows } = await trx
        .insertInto('sender_intent')
        .values(rowOf(entry))
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      if (numInsertedOrUpdatedRows === 1n) {
        if (attempt !== undefined) {
          await trx
            .insertInto('sender_attempt')
            .values(attemptRowOf(intent.key, attempt))
            .execute();
        }
        isCommitting = true;
        return { tag: 'created', entry };
      }
      if (await isKnown(trx, intent.key)) return { tag: 'known' };
      if (attempt !== undefined && (await isHeld(trx, attempt.wallet, attempt.nonce))) {
        throw new JournalConflict(intent.key);
      }
      sequence.clash();
    }
    throw new Error(`no sequence number was free for intent ${intent.key}`);
  };
  // A guard may write too.
  const single = guard === undefined && attempt === undefined;
  try {
    return await fenced(db, fence, work, { single });
  } catch (error) {
    if (isCommitting) signed?.onDoubt();
    throw error;
  }
}

async function isKnown(trx: Transaction<SenderTables>, key: string): Promise<boolean> {
  const row = await trx
    .selectFrom('sender_intent')
    .select('key')
    .where('key', '=', key)
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether a row holds this nonce. */
export async function isHeld(
  db: Kysely<SenderTables>,
  wallet: Address,
  nonce: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('sender_intent')
    .select('key')
    .where('wallet', '=', wallet)
    .where('nonce', '=', nonce)
    .where('phase', 'in', ['claimed', 'signed', 'broadcast'])
    .executeTakeFirst();
  return row !== undefined;
}

function newEntry(intent: Intent, seq: number, now: number, attempt: Attempt | undefined): Entry {
  const queued: Entry = {
    key: intent.key,
    seq,
    version: 1,
    intent,
    phase: 'queued',
    wallet: null,
    nonce: null,
    receipt: null,
    confirmed: false,
    refusal: null,
    createdAt: now,
    updatedAt: now,
    attempts: [],
  };
  if (attempt === undefined) return queued;
  const { wallet, nonce } = attempt;
  const claimed = applyEvent(queued, { type: 'claimed', wallet, nonce, attempt }, now);
  if (claimed === null) throw new Error('a new intent does not take its claim');
  return claimed;
}
