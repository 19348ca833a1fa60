/** An owner's rows as entries of the cost basis, in chain order. */
import type { Kysely } from 'kysely';
import { type Address, getAddress } from 'viem';
import { apply, type Basis, type Entry, NOTHING, valueOf } from './cost-basis.ts';
import type { NavAt } from './past-navs.ts';
import type { AccountingTables, ShareTransferRow, TradeRow } from './tables.ts';

/** Where a buy or a sale leaves its owner: USDG all-in, every fee counted. */
export function usdgOf(trade: TradeRow): bigint {
  const fees = BigInt(trade.protocol_fee) + BigInt(trade.executor_fee) + BigInt(trade.network_fee);
  const gross = BigInt(trade.gross);
  if (trade.kind === 'buy') return gross + fees;
  // A network fee may exceed what a tiny sale brought in; it was paid all the same, out of other USDG.
  return gross - fees;
}

/** Basis per vault (checksummed) of everything that the rows know of the owner. */
export async function basisOf<DB extends AccountingTables>(
  db: Kysely<DB>,
  navAt: NavAt,
  owner: Address,
  navNow: (vault: Address) => bigint,
): Promise<Map<Address, Basis>> {
  const rows = await rowsOf(db as unknown as Kysely<AccountingTables>, owner.toLowerCase());
  const books = new Map<Address, Basis>();
  for (const row of rows) {
    const vault = getAddress(row.vault);
    const entry = await entryOf(row, owner.toLowerCase(), async () => {
      return (await navAt(vault, row)) ?? navNow(vault);
    });
    books.set(vault, apply(books.get(vault) ?? NOTHING, entry));
  }
  return books;
}

type Row = ({ of: 'trade' } & TradeRow) | ({ of: 'transfer' } & ShareTransferRow);

async function rowsOf(db: Kysely<AccountingTables>, owner: string): Promise<Row[]> {
  const [trades, transfers] = await Promise.all([
    db
      .selectFrom('trade')
      .selectAll()
      .where('owner', '=', owner)
      // Its burnt shares are a transfer.
      .where('kind', '!=', 'redeem')
      .execute(),
    db
      .selectFrom('share_transfer')
      .selectAll()
      .where((where) => where.or([where('sender', '=', owner), where('receiver', '=', owner)]))
      .where('kind', '=', 'move')
      .whereRef('sender', '!=', 'receiver')
      .execute(),
  ]);
  return [
    ...trades.map((row): Row => ({ of: 'trade', ...row })),
    ...transfers.map((row): Row => ({ of: 'transfer', ...row })),
  ].sort((a, b) => a.block - b.block || a.log_index - b.log_index);
}

async function entryOf(row: Row, owner: string, nav: () => Promise<bigint>): Promise<Entry> {
  const shares = BigInt(row.shares);
  if (row.of === 'trade') {
    return row.kind === 'buy'
      ? { tag: 'buy', shares, paid: usdgOf(row) }
      : { tag: 'sell', shares, received: usdgOf(row) };
  }
  if (row.sender === owner) return { tag: 'out', shares };
  return { tag: 'in', shares, value: valueOf(shares, await nav()) };
}
