/** What a keeper's journal says it earned and spent, to be held against the chain's balances. */
import Database from 'libsql';

export type Books = {
  /** USDG base units received. */
  feesUsdg: bigint;
  /** Wei spent on gas. */
  gasWei: bigint;
  executed: number;
  reverted: number;
  /** Attempts whose outcome is not final yet. */
  open: number;
};

/** Reads the journal in `file` without writing to it. */
export function readBooks(file: string): Books {
  const database = new Database(file, { readonly: true });
  try {
    const rows = database
      .prepare('select outcome, settled, fee_usdg, gas_used, gas_price_wei from keeper_attempts')
      .all() as Record<'outcome' | 'fee_usdg' | 'gas_used' | 'gas_price_wei', string | null>[] &
      { settled: number }[];
    const books: Books = { feesUsdg: 0n, gasWei: 0n, executed: 0, reverted: 0, open: 0 };
    for (const row of rows) {
      books.feesUsdg += BigInt(row.fee_usdg ?? 0);
      books.gasWei += BigInt(row.gas_used ?? 0) * BigInt(row.gas_price_wei ?? 0);
      if (row.outcome === 'mined') books.executed += 1;
      if (row.outcome === 'reverted') books.reverted += 1;
      if (row.settled === 0) books.open += 1;
    }
    return books;
  } finally {
    database.close();
  }
}
