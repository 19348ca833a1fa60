/** Many rows in few statements. */
import type { CompiledQuery, Insertable, Kysely, Transaction } from 'kysely';

/**
 * Values bound in one statement: SQLite takes 32,766. Full chunks share one statement text, so that it is prepared
 * once; larger ones gain nothing.
 */
const VALUES_PER_STATEMENT = 1_000;

/** Inserts rows; one whose key is there already changes nothing. */
export async function insertRows<DB, T extends keyof DB & string>(
  db: Kysely<DB> | Transaction<DB>,
  table: T,
  rows: readonly Insertable<DB[T]>[],
): Promise<void> {
  const insertOf = (chunk: readonly Insertable<DB[T]>[]): CompiledQuery =>
    db
      .insertInto(table)
      .values(chunk)
      .onConflict((conflict) => conflict.doNothing())
      .compile();
  const [first, ...others] = chunks(rows);
  if (first === undefined) return;
  // Building a statement of a thousand values costs about as much as running it: chunks of one size share it.
  const query = insertOf(first);
  await db.executeQuery(query);
  for (const chunk of others) {
    const isFull = chunk.length === first.length;
    await db.executeQuery(
      isFull ? { ...query, parameters: chunk.flatMap(Object.values) } : insertOf(chunk),
    );
  }
}

/** Rows cut to the size of a statement; rows of one table have the same columns. */
export function* chunks<R>(rows: readonly R[]): Generator<readonly R[]> {
  const columns = Object.keys(rows[0] ?? { none: null }).length;
  const size = Math.max(Math.floor(VALUES_PER_STATEMENT / columns), 1);
  for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}
