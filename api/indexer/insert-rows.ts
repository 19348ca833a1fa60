/** Many rows in few statements. */
import {
  type CompiledQuery,
  type Insertable,
  type Kysely,
  PostgresAdapter,
  sql,
  type Transaction,
} from 'kysely';
import { isWhole } from '../../runtime/store/bound.ts';

/**
 * Values bound in one statement: SQLite takes 32,766. Full chunks share one statement text, so that it is prepared
 * once; larger ones gain nothing.
 */
const VALUES_PER_STATEMENT = 1_000;
/** Rows in one text of JSON, and the fewest that are worth one. */
const ROWS_PER_TEXT = 5_000;
const MANY = 250;

type Db<DB> = Kysely<DB> | Transaction<DB>;

/** Rows that can be inserted, as {@link preparedRows} made them. */
export type PreparedRows<R> = { rows: readonly R[]; texts: readonly string[] };

/**
 * Rows made ready for {@link insertRows}, which is then shorter by it. Many become texts of JSON: to bind each value
 * takes most of the time of an insert, and is work of the event loop; a text is taken apart where the statement runs
 * (runtime/store/off-thread.ts).
 */
export function preparedRows<R extends object>(rows: readonly R[]): PreparedRows<R> {
  const texts: string[] = [];
  if (rows.length >= MANY) {
    const columns = columnsOf(rows);
    const arrays = rows.map((row) => cellsOf(row, columns));
    for (let start = 0; start < rows.length; start += ROWS_PER_TEXT) {
      texts.push(JSON.stringify(arrays.slice(start, start + ROWS_PER_TEXT)));
    }
  }
  return { rows, texts };
}

/** Inserts rows; one whose key is there already changes nothing. Many go into a SQLite file off the event loop. */
export async function insertRows<DB, T extends keyof DB & string>(
  db: Db<DB>,
  table: T,
  given: readonly Insertable<DB[T]>[] | PreparedRows<Insertable<DB[T]>>,
): Promise<void> {
  const { rows, texts } = 'texts' in given ? given : preparedRows(given);
  const isFile = !(db.getExecutor().adapter instanceof PostgresAdapter);
  if (!isFile || texts.length === 0) {
    await insertValues(db, table, rows);
    return;
  }
  const columns = columnsOf(rows);
  // Numbers, texts and nulls come out as they are.
  const values = columns.map((_, index) => sql`value ->> ${sql.lit(index)}`);
  for (const text of texts) {
    await sql`
      insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
      select ${sql.join(values)} from json_each(${text}) where true
      on conflict do nothing`.execute(db);
  }
}

/** Rows of one table have the same columns, in whatever order. */
const columnsOf = (rows: readonly object[]): string[] => Object.keys(rows[0] ?? {});

/** @throws for a value that is missing, or that JSON would change */
function cellsOf(row: object, columns: readonly string[]): (string | number | null)[] {
  const values = row as { readonly [column: string]: unknown };
  return columns.map((column) => {
    const value = values[column];
    const isText = typeof value === 'string' && isWhole(value);
    const isSame = isText || value === null || Number.isSafeInteger(value);
    if (isSame) return value as string | number | null;
    throw new Error(`a row of an insert has no value that can be written for ${column}`);
  });
}

async function insertValues<DB, T extends keyof DB & string>(
  db: Db<DB>,
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
  const columns = columnsOf(first);
  await db.executeQuery(query);
  for (const chunk of others) {
    const isFull = chunk.length === first.length;
    await db.executeQuery(
      isFull
        ? { ...query, parameters: chunk.flatMap((row) => cellsOf(row, columns)) }
        : insertOf(chunk),
    );
  }
}

/** Rows cut to the size of a statement; rows of one table have the same columns. */
export function* chunks<R>(rows: readonly R[]): Generator<readonly R[]> {
  const columns = Object.keys(rows[0] ?? { none: null }).length;
  const size = Math.max(Math.floor(VALUES_PER_STATEMENT / columns), 1);
  for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}
