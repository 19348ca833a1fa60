/**
 * What a basket's share was worth at a moment: what a transfer enters at. Dollars x 1e18.
 *
 * The NAV sample of that minute, or the last one before it; without one, what the last buy or sale before it paid a
 * share, else the first after it. Where nothing of all that exists the value is not known (null).
 */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import type { NavSampleTables } from '../marks/nav-samples.ts';
import { pricePerShare } from './cost-basis.ts';
import type { AccountingTables } from './tables.ts';

/** A moment: the block's time, and the block itself to find the trades around it. */
export type Moment = { time: number; block: number };

type Db = Kysely<AccountingTables & NavSampleTables>;

/** NAV of one basket at one moment, or null. */
export type NavAt = (vault: Address, moment: Moment) => Promise<bigint | null>;

export function pastNavs<DB extends AccountingTables & NavSampleTables>(db: Kysely<DB>): NavAt {
  const own = db as unknown as Db;
  return async (vault, moment) =>
    (await sampledNav(own, vault, moment.time)) ?? (await tradedNav(own, vault, moment.block));
}

async function sampledNav(db: Db, vault: Address, time: number): Promise<bigint | null> {
  const row = await db
    .selectFrom('nav_sample')
    .select('nav')
    .where('vault', '=', vault)
    .where('minute', '<=', time)
    .orderBy('minute', 'desc')
    .executeTakeFirst();
  return row === undefined ? null : BigInt(row.nav);
}

async function tradedNav(db: Db, vault: Address, block: number): Promise<bigint | null> {
  const trades = db
    .selectFrom('trade')
    .select(['shares', 'gross'])
    .where('vault', '=', vault.toLowerCase())
    .where('kind', '!=', 'redeem');
  const trade =
    (await trades
      .where('block', '<=', block)
      .orderBy('block', 'desc')
      .orderBy('log_index', 'desc')
      .executeTakeFirst()) ??
    (await trades
      .where('block', '>', block)
      .orderBy('block')
      .orderBy('log_index')
      .executeTakeFirst());
  return trade === undefined ? null : pricePerShare(BigInt(trade.shares), BigInt(trade.gross));
}
