/** Old outcomes leave the journal: it would otherwise grow for as long as the process earns. */
import type { Kysely } from 'kysely';
import { fenced } from '../store/fenced.ts';
import { type Fence, unfenced } from '../store/lead.ts';
import type { SenderTables } from './tables.ts';

const ROWS_AT_ONCE = 500;

export type PruneOptions = {
  /** Unix milliseconds: rows that changed later stay. */
  beforeMs: number;
  /** Of the given keys those that the caller may still ask for, whose rows stay however old; default: none. */
  stillAsked?: (keys: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Of the lead under which the sender writes. */
  fence?: Fence;
};

/**
 * Deletes what has been final since before `beforeMs`, with its signed bytes: confirmed, refused or superseded. What is
 * unsettled stays whatever its age, and so does the highest confirmed nonce of each wallet, by which a start notices
 * that the journal belongs to another chain.
 *
 * What it means for a caller: a key is known for at least the age that he prunes by. Submitted again after that it is
 * a new intent and is sent; so either his keys never come again after that time, or he names those that may in
 * `stillAsked`.
 * @returns the number of intents deleted
 */
export async function pruneSettled<DB extends SenderTables>(
  db: Kysely<DB>,
  options: PruneOptions,
): Promise<number> {
  const { beforeMs, stillAsked, fence = unfenced } = options;
  // The sender's tables are part of the process's own; kysely's types do not narrow by themselves.
  const own = db as unknown as Kysely<SenderTables>;
  let deleted = 0;
  let after = -1;
  for (;;) {
    const rows = await finalRows(own, beforeMs, after);
    const last = rows.at(-1);
    if (last === undefined) return deleted;
    after = last.seq;
    const asked = (await stillAsked?.(rows.map(({ key }) => key))) ?? new Set<string>();
    const keys = rows.map(({ key }) => key).filter((key) => !asked.has(key));
    if (keys.length > 0) deleted += await deleteFinal(own, keys, beforeMs, fence);
  }
}

async function finalRows(
  db: Kysely<SenderTables>,
  beforeMs: number,
  afterSeq: number,
): Promise<{ key: string; seq: number }[]> {
  return await db
    .selectFrom('sender_intent as old')
    .select(['old.key', 'old.seq'])
    .where('old.updated_at', '<', beforeMs)
    .where('old.seq', '>', afterSeq)
    .where((is) =>
      is.or([
        is('old.phase', 'in', ['refused', 'superseded']),
        is.and([
          is('old.confirmed', '=', 1),
          is.exists(
            is
              .selectFrom('sender_intent as newer')
              .select('newer.key')
              .whereRef('newer.wallet', '=', 'old.wallet')
              .whereRef('newer.nonce', '>', 'old.nonce')
              .where('newer.confirmed', '=', 1),
          ),
        ]),
      ]),
    )
    .orderBy('old.seq')
    .limit(ROWS_AT_ONCE)
    .execute();
}

/** The age again, in the same transaction: a late receipt may have brought a refused intent back to life. */
async function deleteFinal(
  db: Kysely<SenderTables>,
  keys: readonly string[],
  beforeMs: number,
  fence: Fence,
): Promise<number> {
  return await fenced(db, fence, async (trx) => {
    const still = await trx
      .selectFrom('sender_intent')
      .select('key')
      .where('key', 'in', keys)
      .where('updated_at', '<', beforeMs)
      .execute();
    const old = still.map(({ key }) => key);
    if (old.length === 0) return 0;
    await trx.deleteFrom('sender_attempt').where('intent_key', 'in', old).execute();
    const result = await trx.deleteFrom('sender_intent').where('key', 'in', old).executeTakeFirst();
    return Number(result.numDeletedRows);
  });
}
