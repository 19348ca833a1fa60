/**
 * What the relayer forgets once nobody can ask for it: rows of actions whose deadline is more than a year past. An
 * action of then cannot run any more, whatever is posted: its answer comes from the chain (EXPIRED, NONCE_USED).
 */
import type { Kysely } from 'kysely';
import { pruneSettled } from '../runtime/sender/prune.ts';
import { fenced } from '../runtime/store/fenced.ts';
import type { Fence } from '../runtime/store/lead.ts';
import { intentKey } from './slots.ts';
import type { StoreTables } from './store.ts';

const DAY_MS = 86_400_000;
/** A year's statement, and then some. */
export const KEEP_MS = 400 * DAY_MS;

const SLOTS_AT_ONCE = 200;

/**
 * The sender's journal first. Books and slots go only with the intents that they are of: an intent without its
 * booking would be booked again, by the day and the price of then.
 * @param now unix milliseconds
 * @returns rows deleted, by table. @throws Overtaken in a process that no longer leads
 */
export async function pruneRelay(
  db: Kysely<StoreTables>,
  { now, fence }: { now: number; fence: Fence },
): Promise<{ intents: number; books: number; slots: number }> {
  const beforeMs = now - KEEP_MS;
  const intents = await pruneSettled(db, { beforeMs, fence });
  const books = await fenced(db, fence, async (trx) => {
    const kept = trx.selectFrom('sender_intent').select('key');
    await trx
      .deleteFrom('relay_gas')
      .where('day', '<', Math.floor(beforeMs / DAY_MS))
      .where('intent_key', 'not in', kept)
      // What the probe of the store writes.
      .where('day', '>', 0)
      .execute();
    const { numDeletedRows } = await trx
      .deleteFrom('relay_ledger')
      .where('settled_at', '<', beforeMs)
      .where('intent_key', 'not in', kept)
      .executeTakeFirst();
    return Number(numDeletedRows);
  });
  return { intents, books, slots: await pruneSlots(db, Math.floor(beforeMs / 1_000), fence) };
}

/** @param before unix seconds */
async function pruneSlots(db: Kysely<StoreTables>, before: number, fence: Fence): Promise<number> {
  let deleted = 0;
  let after = '';
  for (;;) {
    const old = await db
      .selectFrom('relay_slots')
      .select(['digest', 'attempt'])
      .where('deadline', '<', before)
      .where('digest', '>', after)
      .orderBy('digest')
      .limit(SLOTS_AT_ONCE)
      .execute();
    const last = old.at(-1);
    if (last === undefined) return deleted;
    after = last.digest;
    deleted += await fenced(db, fence, async (trx) => {
      // A slot's attempts are few (MAX_ATTEMPTS, and those that never left).
      const digestOf = new Map(
        old.flatMap(({ digest, attempt }) =>
          Array.from({ length: attempt + 1 }, (_, each) => {
            return [intentKey(digest as `0x${string}`, each), digest] as const;
          }),
        ),
      );
      const held = await trx
        .selectFrom('sender_intent')
        .select('key')
        .where('key', 'in', [...digestOf.keys()])
        .execute();
      const kept = new Set(held.map(({ key }) => digestOf.get(key)));
      const gone = old.map(({ digest }) => digest).filter((digest) => !kept.has(digest));
      if (gone.length === 0) return 0;
      const { numDeletedRows } = await trx
        .deleteFrom('relay_slots')
        .where('digest', 'in', gone)
        .where('deadline', '<', before)
        .executeTakeFirst();
      return Number(numDeletedRows);
    });
  }
}
