/** What a basket's share was worth at a moment: what a transfer enters at. NAVs are dollars x 1e18. */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import { pricePerShare } from './cost-basis.ts';
import type { AccountingTables } from './tables.ts';

/** The close of the minute before a moment (unix seconds of the chain), or null where the history does not tell. */
export type NavAt = (vault: Address, time: number) => Promise<bigint | null>;

/** A moment: the block's time, and the block itself to find the trades around it. */
type Moment = { time: number; block: number };

/**
 * The NAV of that time; without one, what the last buy or sale before it paid a share, else the first after it. Null
 * where nothing of all that exists.
 */
export async function pastNav(
  db: Kysely<AccountingTables>,
  navAt: NavAt,
  vault: Address,
  moment: Moment,
): Promise<bigint | null> {
  return (await navAt(vault, moment.time)) ?? (await tradedNav(db, vault, moment.block));
}

/** `fromHistory`: the NAV of that time, which the history tells the same for ever. */
export type ArrivalNav = { nav: bigint | null; fromHistory: boolean };

/** NAVs that shares arrived at, for rows that are worked out together: each moment is looked up once. */
export class ArrivalNavs {
  readonly #db: Kysely<AccountingTables>;
  readonly #navAt: NavAt;
  readonly #known = new Map<string, ArrivalNav>();

  constructor(db: Kysely<AccountingTables>, navAt: NavAt) {
    this.#db = db;
    this.#navAt = navAt;
  }

  /** As `pastNav`. */
  async at(vault: Address, { time, block }: Moment): Promise<ArrivalNav> {
    const key = `${vault}:${block}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const nav = await this.#navAt(vault, time);
    const found =
      nav === null
        ? { nav: await tradedNav(this.#db, vault, block), fromHistory: false }
        : { nav, fromHistory: true };
    this.#known.set(key, found);
    return found;
  }
}

async function tradedNav(
  db: Kysely<AccountingTables>,
  vault: Address,
  block: number,
): Promise<bigint | null> {
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
