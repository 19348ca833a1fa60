/**
 * Rows as one run of bytes, each column of one width: SQLite finds a cell by its place, without parsing anything and
 * without a value bound for it. An insert of ten thousand rows takes two thirds of what it takes from JSON.
 */
import { isAscii } from 'node:buffer';
import { type RawBuilder, sql } from 'kysely';
import { isWhole } from '../../runtime/store/bound.ts';

export type Cell = string | number | null;

type Row = { readonly [column: string]: unknown };

type Column = {
  /** Bytes. */
  width: number;
  /** Every cell is a whole number. */
  isNumber: boolean;
  /** Cells end with a mark: some are null, or end with what the others are filled up with. */
  isMarked: boolean;
  /** Some cells are shorter than the column is wide. */
  isFilled: boolean;
};

/** A column and its cells as text; null is nothing at all, of which a mark tells an empty text. */
type Measured = { column: Column; contents: readonly (string | null)[] };

export type CellTable = { bytes: Uint8Array; rows: number; columns: readonly Column[] };

const FILL = ' ';
/** Characters: to have a shorter text written costs more than to write it here. */
const SHORT = 24;
const MARK = '.';

/** A row's value of a column. @throws where it is missing, or would come out as another */
export function cellOf(row: object, column: string): Cell {
  const cell = valueOf(row, column);
  if (typeof cell === 'string' && !isWhole(cell)) throw unwritable(column);
  return cell;
}

/** The same, but for texts with half a character. */
function valueOf(row: object, column: string): Cell {
  const value = (row as Row)[column];
  if (typeof value === 'string' || value === null || Number.isSafeInteger(value))
    return value as Cell;
  throw unwritable(column);
}

const unwritable = (column: string): Error =>
  new Error(`a row of an insert has no value that can be written for ${column}`);

/** How cells are read and how long a text is. */
type Measure = { read: (row: object, column: string) => Cell; lengthOf: (text: string) => number };

/** Takes a fraction of the time; where it does not hold, the bytes tell. */
const AS_ASCII: Measure = { read: valueOf, lengthOf: (text) => text.length };
const AS_TEXT: Measure = { read: cellOf, lengthOf: (text) => Buffer.byteLength(text) };

/** @param rows one or more, each with these columns. @throws as {@link cellOf} */
export function cellTable(rows: readonly object[], names: readonly string[]): CellTable {
  const plain = tableOf(rows, names, AS_ASCII);
  const table = isAscii(plain.bytes) ? plain : tableOf(rows, names, AS_TEXT);
  // SQLite's length of a text ends at the first of these.
  if (table.bytes.includes(0))
    throw new Error('a row of an insert has text that cannot be written: it holds NUL');
  return table;
}

/**
 * A text that takes more bytes than measured runs into the cells after it, and its first byte that is not ASCII stays
 * in its own.
 */
function tableOf(rows: readonly object[], names: readonly string[], measure: Measure): CellTable {
  const measured = names.map((name) => columnOf(rows, name, measure));
  const columns = measured.map(({ column }) => column);
  const size = sizeOf(columns);
  // With room for the last one, up to three bytes a character.
  const bytes = Buffer.alloc((rows.length + 2) * size, FILL);
  let start = 0;
  for (const { column, contents } of measured) {
    let at = start;
    for (const content of contents) {
      if (content !== null) write(bytes, at, column.isMarked ? content + MARK : content);
      at += size;
    }
    start += column.width;
  }
  return { bytes: bytes.subarray(0, rows.length * size), rows: rows.length, columns };
}

function write(bytes: Buffer, start: number, text: string): void {
  const isWritten = text.length <= SHORT && writeAscii(bytes, start, text);
  if (!isWritten) bytes.write(text, start);
}

/** False where it is not ASCII. */
function writeAscii(bytes: Buffer, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return false;
    bytes[start + index] = code;
  }
  return true;
}

/** A query of SQLite's for the rows, their cells as they were: text, whole numbers, null. */
export function rowsOfCells({ bytes, rows, columns }: CellTable): RawBuilder<unknown> {
  const size = sizeOf(columns);
  let start = 1;
  const cells = columns.map(({ width, isNumber, isMarked, isFilled }) => {
    const from = sql`at.row * ${sql.lit(size)} + ${sql.lit(start)}`;
    start += width;
    const place = sql`substr(?1, ${from}, ${sql.lit(width)})`;
    if (isNumber) return sql`cast(${place} as integer)`;
    const text = sql`cast(${place} as text)`;
    const content = isFilled ? sql`rtrim(${text}, ${sql.lit(FILL)})` : text;
    return isMarked ? sql`substr(nullif(${content}, ''), 1, length(${content}) - 1)` : content;
  });
  // Bound once: bound for each cell, or read from a table, the bytes would be copied every time.
  return sql`
    with recursive
      at(row) as (
        select 0 where ${bytes} is not null
        union all select row + 1 from at where row < ${sql.lit(rows - 1)}
      )
    select ${sql.join(cells)} from at where true`;
}

function columnOf(rows: readonly object[], name: string, { read, lengthOf }: Measure): Measured {
  let width = 0;
  let least = Number.POSITIVE_INFINITY;
  let isNumber = true;
  let isMarked = false;
  const contents: (string | null)[] = [];
  for (const row of rows) {
    const cell = read(row, name);
    if (typeof cell !== 'number') isNumber = false;
    if (cell === null || (typeof cell === 'string' && cell.endsWith(FILL))) isMarked = true;
    const content = cell === null ? null : String(cell);
    contents.push(content);
    const length = content === null ? 0 : lengthOf(content);
    if (length > width) width = length;
    if (length < least) least = length;
  }
  const isFilled = isMarked || least < width;
  const column = {
    width: isMarked ? width + MARK.length : width,
    isNumber,
    isMarked,
    isFilled,
  };
  return { column, contents };
}

function sizeOf(columns: readonly Column[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0);
}
