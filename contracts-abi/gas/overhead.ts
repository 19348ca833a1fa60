import { type Items, itemise } from './itemise.ts';
import type { Figures } from './measure.ts';

const PER_TRADE = 150_000;
const PER_CONSTITUENT = 60_000;
const COUNTS = { three: 3, seven: 7 } as const;
const KINDS = { buy: 'session', sale: 'session', stop: 'fill' } as const;

type Trade = { title: string; test: string; ours: string; bare: string; constituents: number };

function trades(): Trade[] {
  return Object.entries(KINDS).flatMap(([kind, how]) =>
    Object.entries(COUNTS).map(([word, constituents]) => {
      const title = `${kind} of ${constituents}`;
      return {
        title,
        test: `test_${kind}_of_${word}`,
        ours: `${title}, ${how}`,
        bare: `${title}, bare swaps`,
        constituents,
      };
    }),
  );
}

/** Each trade next to its bare swaps, as a Markdown table. */
export function overheadTable(figures: Figures): string {
  const rows = trades().map(({ title, ours, bare, constituents }) => {
    const [all = 0, swaps = 0] = [figures[ours], figures[bare]];
    const aim = PER_TRADE + PER_CONSTITUENT * constituents;
    return [title, swaps, all, all - swaps, aim];
  });
  return table(['trade', 'bare swaps', 'ours', 'overhead', 'aim'], rows);
}

/** The overhead line by line: what each part costs above the same part of the bare swaps. */
export function itemisedTable(account: string, figures: Figures): string {
  const columns = trades().map(({ test, ours, bare }) => ({
    ours: itemise(account, test, figures, ours),
    bare: itemise(account, test, figures, bare),
  }));
  const parts = [...new Set(columns.flatMap(({ ours }) => [...ours.keys()]))];
  const above = (column: { ours: Items; bare: Items }, part: string) =>
    (column.ours.get(part) ?? 0) - (column.bare.get(part) ?? 0);
  const rows = parts.map((part) => [part, ...columns.map((column) => above(column, part))]);
  const totals = columns.map((column) =>
    parts.reduce((total, part) => total + above(column, part), 0),
  );
  return table(
    ['above the bare swaps', ...trades().map(({ title }) => title)],
    [...rows, ['**overhead**', ...totals]],
  );
}

/** As the formatter of this repository writes it: the first column to the left, figures to the right. */
function table(heads: string[], rows: (string | number)[][]): string {
  const cells = rows.map((row) => row.map((cell) => cell.toLocaleString('en-US')));
  const widths = heads.map((head, i) =>
    Math.max(head.length, ...cells.map((row) => row[i]?.length ?? 0)),
  );
  const line = (texts: string[]) =>
    `| ${texts.map((text, i) => (i === 0 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, i) =>
    i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(heads), line(rule), ...cells.map(line)].join('\n');
}
