/**
 * The one way in which a new intent comes into the journal. Any process on the store may write one, whether it leads or
 * not: a queued row changes nothing that stands, and only the leader moves it on.
 */
import { randomInt } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import { fenced } from '../store/fenced.ts';
import type { Fence } from '../store/lead.ts';
import type { Entry } from './entry.ts';
import { rowOf, type SenderTables } from './tables.ts';
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

export async function insertIntent(
  db: Kysely<SenderTables>,
  fence: Fence,
  sequence: Sequence,
  asked: { intent: Intent; now: number; guard?: Guard | undefined },
): Promise<Inserted> {
  const { intent, now, guard } = asked;
  const work = async (trx: Transaction<SenderTables>): Promise<Inserted> => {
    if (guard !== undefined && !(await guard(trx))) return { tag: 'vetoed' };
    for (let attempt = 0; attempt < MOST_TRIES; attempt += 1) {
      const entry = queuedEntry(intent, sequence.next(now), now);
      const { numInsertedOrUpdatedRows } = await trx
        .insertInto('sender_intent')
        .values(rowOf(entry))
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      if (numInsertedOrUpdatedRows === 1n) return { tag: 'created', entry };
      if (await isKnown(trx, intent.key)) return { tag: 'known' };
      sequence.clash();
    }
    throw new Error(`no sequence number was free for intent ${intent.key}`);
  };
  // A guard may write too.
  return await fenced(db, fence, work, { single: guard === undefined });
}

async function isKnown(trx: Transaction<SenderTables>, key: string): Promise<boolean> {
  const row = await trx
    .selectFrom('sender_intent')
    .select('key')
    .where('key', '=', key)
    .executeTakeFirst();
  return row !== undefined;
}

function queuedEntry(intent: Intent, seq: number, now: number): Entry {
  return {
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
}
