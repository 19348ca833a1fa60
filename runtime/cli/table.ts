/** Tables for people (aligned columns) and for programs (CSV, RFC 4180), and the amounts in them. Pure. */
import { formatUnits } from 'viem';

export type Row = readonly string[];

/** USDG base units as dollars with six decimals. */
export function usdgText(amount: bigint): string {
  const [whole = '0', rest = ''] = formatUnits(amount, 6).split('.');
  return `${whole}.${rest.padEnd(6, '0')}`;
}

/** ETH to the gwei, for the eye: what is exact stands in the CSV. */
export function ethText(wei: bigint): string {
  const [whole = '0', rest = ''] = formatUnits(wei / 10n ** 9n, 9).split('.');
  return `${whole}.${rest.padEnd(9, '0')}`;
}

/**
 * Lines of aligned columns; columns that are empty throughout are left out.
 * @param names so many first columns are names, the others numbers
 * @param total a last row, whose first cell reads "total"
 */
export function aligned(
  head: Row,
  body: readonly Row[],
  names: number,
  total: Row | null = null,
): string[] {
  const kept = head.flatMap((_, column) =>
    body.some((row) => row[column] !== '') ? [column] : [],
  );
  const rows = [head, ...body].map((row) => kept.map((column) => row[column] ?? ''));
  if (total !== null) {
    rows.push(kept.map((column, index) => (index === 0 ? 'total' : (total[column] ?? ''))));
  }
  const widths = kept.map((_, index) => Math.max(...rows.map((row) => (row[index] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, index) => {
        const width = widths[index] ?? 0;
        return (kept[index] ?? 0) < names ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** One text with CRLF line ends. */
export function csvText(rows: readonly Row[]): string {
  return rows.map((row) => `${row.map(csvField).join(',')}\r\n`).join('');
}

/** RFC 4180: a field with a comma, a quote or a line end stands in quotes, quotes doubled. */
export function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
