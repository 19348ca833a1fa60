/** USDG traded per basket and day: kept beside the trades, so that a total never needs all of them. */
import type { Kysely, Transaction } from 'kysely';
import type { AccountingTables, TradeRow, VolumeRow } from './tables.ts';

const DAY = 86_400;

type Db = Transaction<AccountingTables>;

/** Counts trades that were inserted just now. */
export async function addVolume(db: Db, trades: readonly TradeRow[]): Promise<void> {
  await change(db, trades, 1n);
}

/** Takes back trades that were deleted just now. */
export async function takeVolume(db: Db, trades: readonly TradeRow[]): Promise<void> {
  await change(db, trades, -1n);
}

/** USDG base units of all buys and sells ever, fees apart. */
export async function totalVolume<DB extends AccountingTables>(db: Kysely<DB>): Promise<bigint> {
  const own = db as unknown as Kysely<AccountingTables>;
  const rows = await own.selectFrom('volume_day').select('gross').execute();
  return rows.reduce((sum, { gross }) => sum + BigInt(gross), 0n);
}

async function change(db: Db, trades: readonly TradeRow[], sign: bigint): Promise<void> {
  const sums = new Map<string, { vault: string; day: number; gross: bigint; trades: number }>();
  for (const { kind, vault, time, gross } of trades) {
    if (kind === 'redeem') continue;
    const day = Math.floor(time / DAY);
    const key = `${vault}:${day}`;
    const sum = sums.get(key) ?? { vault, day, gross: 0n, trades: 0 };
    sum.gross += sign * BigInt(gross);
    sum.trades += Number(sign);
    sums.set(key, sum);
  }
  for (const sum of sums.values()) await merge(db, sum);
}

async function merge(
  db: Db,
  { vault, day, gross, trades }: Omit<VolumeRow, 'gross'> & { gross: bigint },
): Promise<void> {
  const known = await db
    .selectFrom('volume_day')
    .select(['gross', 'trades'])
    .where('vault', '=', vault)
    .where('day', '=', day)
    .executeTakeFirst();
  const row = {
    vault,
    day,
    gross: (BigInt(known?.gross ?? 0) + gross).toString(),
    trades: (known?.trades ?? 0) + trades,
  };
  if (row.trades === 0) {
    await db.deleteFrom('volume_day').where('vault', '=', vault).where('day', '=', day).execute();
    return;
  }
  await db
    .insertInto('volume_day')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['vault', 'day']).doUpdateSet({ gross: row.gross, trades: row.trades }),
    )
    .execute();
}
