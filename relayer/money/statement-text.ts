/** A statement for people (an aligned table) and for programs (CSV, RFC 4180). Pure. */
import {
  aligned,
  csvText,
  ethText as eth,
  type Row,
  usdgText as usdg,
} from '../../runtime/cli/table.ts';
import { type Earnings, type Moved, netUsdg, type Statement, totalOf } from './statement.ts';

/** Of both tables the first columns are names, the others numbers. */
const NAMES = 3;

const HEAD: Row = [
  'day',
  'account',
  'key',
  'executed',
  'reverted',
  'fees USDG',
  'gas USDG',
  'net USDG',
  'gas ETH',
];
const MOVES_HEAD: Row = [
  'day',
  'move',
  'wallet',
  'done',
  'reverted',
  'USDG out',
  'ETH between wallets',
  'gas ETH',
  'gas USDG',
];

/** The table has USDG to the base unit and ETH to the gwei. */
function earningsRow(line: Earnings): Row {
  return [
    line.day,
    line.account,
    line.key,
    String(line.executed),
    String(line.reverted),
    usdg(line.feesUsdg),
    usdg(line.gasUsdg),
    usdg(netUsdg(line)),
    eth(line.gasWei),
  ];
}

const movesRow = (line: Moved): Row => [
  line.day,
  line.kind,
  line.wallet,
  String(line.executed),
  String(line.reverted),
  usdg(line.movedUsdg),
  eth(line.fundedWei),
  eth(line.gasWei),
  usdg(line.gasUsdg),
];

/** Lines of text. */
export function statementTable({ earnings, moves, open, sinceMs }: Statement): string[] {
  const lines = [`since ${new Date(sinceMs).toISOString()}, days in UTC`, ''];
  if (earnings.length === 0) lines.push('nothing was executed');
  else
    lines.push(...aligned(HEAD, earnings.map(earningsRow), NAMES, earningsRow(totalOf(earnings))));
  if (moves.length > 0) {
    lines.push('', "the relayer's own money, no earnings:");
    lines.push(...aligned(MOVES_HEAD, moves.map(movesRow), NAMES));
  }
  const unpriced = [...earnings, ...moves].reduce((sum, line) => sum + line.unpriced, 0);
  if (unpriced > 0) {
    lines.push('', `${unpriced} transactions count in ETH alone: the ETH price was not known`);
  }
  if (open > 0) lines.push('', `${open} transactions are under way and not counted`);
  return lines;
}

const CSV_HEAD: Row = [
  'day',
  'type',
  'account',
  'key',
  'wallet',
  'executed',
  'reverted',
  'fees_usdg',
  'gas_wei',
  'gas_usdg',
  'net_usdg',
  'moved_out_usdg',
  'funded_wei',
  'unpriced',
];

/** Earnings have the type "relay"; moves are rows with their kind as the type and no fees. */
export function statementCsv({ earnings, moves }: Statement): string {
  return csvText([
    CSV_HEAD,
    ...earnings.map((line) => [
      line.day,
      'relay',
      line.account,
      line.key,
      '',
      String(line.executed),
      String(line.reverted),
      usdg(line.feesUsdg),
      line.gasWei.toString(),
      usdg(line.gasUsdg),
      usdg(netUsdg(line)),
      usdg(0n),
      '0',
      String(line.unpriced),
    ]),
    ...moves.map((line) => [
      line.day,
      line.kind,
      '',
      '',
      line.wallet,
      String(line.executed),
      String(line.reverted),
      usdg(0n),
      line.gasWei.toString(),
      usdg(line.gasUsdg),
      usdg(-line.gasUsdg),
      usdg(line.movedUsdg),
      line.fundedWei.toString(),
      String(line.unpriced),
    ]),
  ]);
}
