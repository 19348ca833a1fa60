/** A statement for people (an aligned table) and for programs (CSV, RFC 4180). Pure. */
import { formatUnits } from 'viem';
import { type Earnings, type Moved, netUsdg, type Statement, totalOf } from './statement.ts';

const usdg = (amount: bigint): string => {
  const text = formatUnits(amount, 6);
  const [whole = '0', rest = ''] = text.split('.');
  return `${whole}.${rest.padEnd(6, '0')}`;
};

/** ETH to the gwei, for the eye: what is exact stands in the CSV. */
const eth = (wei: bigint): string => {
  const [whole = '0', rest = ''] = formatUnits(wei / 10n ** 9n, 9).split('.');
  return `${whole}.${rest.padEnd(9, '0')}`;
};

type Row = readonly string[];

const HEAD: Row = [
  'day',
  'type',
  'wallet',
  'executed',
  'reverted',
  'fees USDG',
  'gas USDG',
  'net USDG',
  'gas ETH',
  'of it L1',
  'duties lost',
];
const MOVES_HEAD: Row = [
  'day',
  'move',
  'wallet',
  'done',
  'reverted',
  'USDG out',
  'ETH in',
  'gas ETH',
  'gas USDG',
];

function earningsRow(line: Earnings): Row {
  return [
    line.day,
    line.type,
    line.wallet,
    String(line.executed),
    String(line.reverted),
    usdg(line.feesUsdg),
    usdg(line.gasUsdg),
    usdg(netUsdg(line)),
    eth(line.gasWei),
    eth(line.l1Wei),
    usdg(line.dutyLossUsdg),
  ];
}

const movesRow = (line: Moved): Row => [
  line.day,
  line.kind,
  line.wallet,
  String(line.executed),
  String(line.reverted),
  usdg(line.movedUsdg),
  eth(line.receivedWei),
  eth(line.gasWei),
  usdg(line.gasUsdg),
];

/** Lines of text. */
export function statementTable(statement: Statement): string[] {
  const { earnings, moves, open, sinceMs } = statement;
  const lines = [`since ${new Date(sinceMs).toISOString()}, days in UTC`, ''];
  if (earnings.length === 0) lines.push('nothing was executed');
  else {
    const rows = earnings.map((line) => earningsRow(line));
    lines.push(...aligned(HEAD, rows, earningsRow(totalOf(earnings))));
  }
  if (moves.length > 0) {
    lines.push('', "the keeper's own money, no earnings:");
    lines.push(...aligned(MOVES_HEAD, moves.map(movesRow), null));
  }
  const unpriced = [...earnings, ...moves].reduce((sum, line) => sum + line.unpriced, 0);
  if (unpriced > 0) {
    lines.push('', `${unpriced} transactions count in ETH alone: the ETH price was not known`);
  }
  if (open > 0) lines.push('', `${open} transactions are under way and not counted whole`);
  return lines;
}

/** Of both tables the first columns are names, the others numbers. */
const NAMES = 3;

/** Columns that are empty throughout are left out. */
function aligned(head: Row, body: readonly Row[], total: Row | null): string[] {
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
        return (kept[index] ?? 0) < NAMES ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

const CSV_HEAD: Row = [
  'day',
  'type',
  'wallet',
  'executed',
  'reverted',
  'fees_usdg',
  'gas_wei',
  'gas_l1_wei',
  'gas_usdg',
  'duty_loss_usdg',
  'net_usdg',
  'moved_out_usdg',
  'received_wei',
  'unpriced',
];

/** One text with CRLF line ends; moves are rows with their kind as the type and no fees. */
export function statementCsv({ earnings, moves }: Statement): string {
  const rows: Row[] = [
    CSV_HEAD,
    ...earnings.map((line) => [
      line.day,
      line.type,
      line.wallet,
      String(line.executed),
      String(line.reverted),
      usdg(line.feesUsdg),
      line.gasWei.toString(),
      line.l1Wei.toString(),
      usdg(line.gasUsdg),
      usdg(line.dutyLossUsdg),
      usdg(netUsdg(line)),
      usdg(0n),
      '0',
      String(line.unpriced),
    ]),
    ...moves.map((line) => [
      line.day,
      line.kind,
      line.wallet,
      String(line.executed),
      String(line.reverted),
      usdg(0n),
      line.gasWei.toString(),
      line.l1Wei.toString(),
      usdg(line.gasUsdg),
      usdg(0n),
      usdg(-line.gasUsdg),
      usdg(line.movedUsdg),
      line.receivedWei.toString(),
      String(line.unpriced),
    ]),
  ];
  return rows.map((row) => `${row.map(csvField).join(',')}\r\n`).join('');
}

/** RFC 4180: a field with a comma, a quote or a line end stands in quotes, quotes doubled. */
export function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One line for the log. */
export function statementLine(statement: Statement): Record<string, string | number> {
  const total = totalOf(statement.earnings);
  return {
    since: new Date(statement.sinceMs).toISOString(),
    executed: total.executed,
    reverted: total.reverted,
    feesUsdg: usdg(total.feesUsdg),
    gasUsdg: usdg(total.gasUsdg),
    netUsdg: usdg(netUsdg(total)),
    gasEth: eth(total.gasWei),
    dutyLossUsdg: usdg(total.dutyLossUsdg),
    sweptUsdg: usdg(movedBy(statement, 'sweep')),
    swappedUsdg: usdg(movedBy(statement, 'topup')),
    open: statement.open,
  };
}

function movedBy({ moves }: Statement, kind: string): bigint {
  return moves.reduce((sum, line) => (line.kind === kind ? sum + line.movedUsdg : sum), 0n);
}
