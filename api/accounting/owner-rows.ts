/** What changes an owner's basis, read from the store page by page: strangers decide how many rows an owner has. */
import { type Kysely, sql } from 'kysely';
import type { TransactionRows } from './read-transaction.ts';
import type { AccountingTables, ShareTransferRow, TradeRow } from './tables.ts';

/** What changes an owner's basis. */
export type AccountRow = ({ of: 'trade' } & TradeRow) | ({ of: 'transfer' } & ShareTransferRow);

/** A place in the chain: everything up to this log, it included. */
export type Place = { block: number; logIndex: number };

export const NOWHERE: Place = { block: -1, logIndex: -1 };

export const endOf = (block: number): Place => ({ block, logIndex: Number.MAX_SAFE_INTEGER });

/** Each of the three kinds of rows that make a page. */
const PAGE = 500;

type Row = { block: number; log_index: number };

function compare(a: Row, b: Row): number {
  return a.block - b.block || a.log_index - b.log_index;
}

/**
 * The next rows of an owner (lower case) above `after` up to the block `to`, in chain order.
 * @returns how far they reach; `more` while there may be others up to `to`.
 */
export async function nextRows(
  db: Kysely<AccountingTables>,
  owner: string,
  after: Place,
  to: number,
): Promise<{ rows: AccountRow[]; upTo: Place; more: boolean }> {
  const span = sql<boolean>`block <= ${to} and block >= ${after.block} and (block > ${after.block} or log_index > ${after.logIndex})`;
  const trades = await db
    .selectFrom('trade')
    .selectAll()
    .where('owner', '=', owner)
    .where(span)
    .orderBy('block')
    .orderBy('log_index')
    .limit(PAGE)
    .execute();
  const moves = async (side: 'sender' | 'receiver') =>
    await db
      .selectFrom('share_transfer')
      .selectAll()
      .where(side, '=', owner)
      .where('kind', '=', 'move')
      .where(span)
      .orderBy('block')
      .orderBy('log_index')
      .limit(PAGE)
      .execute();
  const sent = await moves('sender');
  const received = await moves('receiver');
  const cuts = [trades, sent, received].flatMap((part): Row[] => {
    const last = part.length < PAGE ? undefined : part.at(-1);
    return last === undefined ? [] : [last];
  });
  const cut = cuts.toSorted(compare)[0];
  const within = <R extends Row>(rows: R[]) =>
    cut === undefined ? rows : rows.filter((row) => compare(row, cut) <= 0);
  return {
    rows: accountRows(
      { trades: within(trades), transfers: [...within(sent), ...within(received)] },
      owner,
    ),
    upTo: cut === undefined ? endOf(to) : { block: cut.block, logIndex: cut.log_index },
    more: cut !== undefined,
  };
}

/** Those of an owner (lower case) that change its basis, in chain order. */
export function accountRows(rows: TransactionRows, owner: string): AccountRow[] {
  return [
    ...rows.trades
      // The shares that a redemption burns are a transfer.
      .filter((row) => row.owner === owner && row.kind !== 'redeem')
      .map((row): AccountRow => ({ of: 'trade', ...row })),
    ...rows.transfers
      .filter(
        ({ sender, receiver, kind }) =>
          kind === 'move' && sender !== receiver && (sender === owner || receiver === owner),
      )
      .map((row): AccountRow => ({ of: 'transfer', ...row })),
  ].sort(compare);
}
