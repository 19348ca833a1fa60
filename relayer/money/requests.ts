/**
 * What a command asks of the relayer that runs: only that one sends from its wallets. One row for each thing that can
 * be asked; asking again before it was done is asking once.
 */
import { type Kysely, sql } from 'kysely';
import type { MoneyTables } from './tables.ts';

const SWEEP = 'sweep';

/** Asks for a sweep now. @returns the number to wait for */
export async function askForSweep(db: Kysely<MoneyTables>, nowMs: number): Promise<number> {
  await db
    .insertInto('relay_requests')
    .values({ name: SWEEP, asked_at: nowMs, done_at: 0, answer: null })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet({
        // A clock that was set back must not make it look done.
        asked_at: sql<number>`case when excluded.asked_at > relay_requests.asked_at
          then excluded.asked_at else relay_requests.asked_at + 1 end`,
      }),
    )
    .execute();
  const { asked_at } = await db
    .selectFrom('relay_requests')
    .select('asked_at')
    .where('name', '=', SWEEP)
    .executeTakeFirstOrThrow();
  return asked_at;
}

/** The request that is to be done, or null. */
export async function pendingSweep(db: Kysely<MoneyTables>): Promise<number | null> {
  const row = await db
    .selectFrom('relay_requests')
    .select('asked_at')
    .where('name', '=', SWEEP)
    .whereRef('done_at', '<', 'asked_at')
    .executeTakeFirst();
  return row?.asked_at ?? null;
}

export async function answerSweep(
  db: Kysely<MoneyTables>,
  askedAt: number,
  answer: string,
): Promise<void> {
  await db
    .updateTable('relay_requests')
    .set({ done_at: askedAt, answer })
    .where('name', '=', SWEEP)
    .execute();
}

/** What came of a request, or null while it was not done. */
export async function sweepAnswer(
  db: Kysely<MoneyTables>,
  askedAt: number,
): Promise<string | null> {
  const row = await db
    .selectFrom('relay_requests')
    .select('answer')
    .where('name', '=', SWEEP)
    .where('done_at', '>=', askedAt)
    .executeTakeFirst();
  return row === undefined ? null : (row.answer ?? '');
}
