/** Many rows in few statements. */
import {
  type CompiledQuery,
  type Insertable,
  type Kysely,
  PostgresAdapter,
  sql,
  type Transaction,
} from 'kysely';
import { type CellTable, cellOf, cellTable, rowsOfCells } from './cell-table.ts';

/**
 * Values bound in one statement: SQLite takes 32,766. Full chunks share one statement text, so that it is prepared
 * once; larger ones gain nothing.
 */
const VALUES_PER_STATEMENT = 1_000;
/** Rows in one table of cells, and the fewest that are worth one. */
const ROWS_PER_TABLE = 20_000;
const MANY = 250;

type Db<DB> = Kysely<DB> | Transaction<DB>;

/**
 * Rows that can be inserted, as {@link preparedRows} made them: as rows, and many as tables too. Null: only as those,
 * which PostgreSQL does not take.
 */
export type PreparedRows<R> = {
  columns: readonly string[];
  rows: readonly R[] | null;
  tables: readonly CellTable[];
};

/**
 * Rows made ready for {@link insertRows}, which is then shorter by it. Many become tables of cells (cell-table.ts): to
 * bind each value takes most of the time of an insert, and is work of the event loop; a table is taken apart where the
 * statement runs (runtime/store/off-thread.ts).
 */
export function preparedRows<R extends object>(
  rows: readonly R[],
): PreparedRows<R> & { rows: readonly R[] } {
  const tables: CellTable[] = [];
  const columns = columnsOf(rows);
  if (rows.length >= MANY) {
    for (let start = 0; start < rows.length; start += ROWS_PER_TABLE) {
      tables.push(cellTable(rows.slice(start, start + ROWS_PER_TABLE), columns));
    }
  }
  return { columns, rows, tables };
}

/** Inserts rows; one whose key is there already changes nothing. Many go into a SQLite file off the event loop. */
export async function insertRows<DB, T extends keyof DB & string>(
  db: Db<DB>,
  table: T,
  given: readonly Insertable<DB[T]>[] | PreparedRows<Insertable<DB[T]>>,
): Promise<void> {
  const { columns, rows, tables } = 'tables' in given ? given : preparedRows(given);
  const isFile = !(db.getExecutor().adapter instanceof PostgresAdapter);
  if (!isFile || tables.length === 0) {
    if (rows === null) throw new Error(`rows of ${table} were made for a SQLite file`);
    await insertValues(db, table, rows);
    return;
  }
  for (const cells of tables) {
    await sql`
      insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
      ${rowsOfCells(cells)}
      on conflict do nothing`.execute(db);
  }
}

/** Rows of one table have the same columns, in whatever order. */
const columnsOf = (rows: readonly object[]): string[] => Object.keys(rows[0] ?? {});

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
        ? {
            ...query,
            parameters: chunk.flatMap((row) => columns.map((column) => cellOf(row, column))),
          }
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
