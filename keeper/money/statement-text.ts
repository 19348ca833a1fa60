/** A statement for people (an aligned table) and for programs (CSV, RFC 4180). Pure. */
import {
  aligned,
  csvText,
  ethText as eth,
  type Row,
  usdgText as usdg,
} from '../../runtime/cli/table.ts';
import { type Earnings, type Moved, netUsdg, type Statement, totalOf } from './statement.ts';

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
    lines.push(...aligned(HEAD, rows, NAMES, earningsRow(totalOf(earnings))));
  }
  if (moves.length > 0) {
    lines.push('', "the keeper's own money, no earnings:");
    lines.push(...aligned(MOVES_HEAD, moves.map(movesRow), NAMES));
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
  return csvText(rows);
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
