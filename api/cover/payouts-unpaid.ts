/** Positions that the index knows as sold and not yet paid. The chain says which of them are due. */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import type { CoverTables } from './cover-tables.ts';

export class UnpaidPositions {
  readonly #db: Kysely<CoverTables>;

  constructor(db: Kysely<CoverTables>) {
    this.#db = db;
  }

  /** Ids of one basket's week, oldest first, at most `limit`. Costs what that week sold, not what all weeks did. */
  async of(week: number, vault: Address, limit: number): Promise<bigint[]> {
    const rows = await this.#db
      .selectFrom('cover_listing')
      .innerJoin('cover_sale', 'cover_sale.listing_id', 'cover_listing.id')
      .leftJoin('cover_payout', 'cover_payout.position_id', 'cover_sale.position_id')
      .select('cover_sale.position_id')
      .where('cover_listing.week', '=', week)
      .where('cover_listing.vault', '=', vault.toLowerCase())
      .where('cover_payout.position_id', 'is', null)
      .orderBy('cover_sale.block')
      .orderBy('cover_sale.log_index')
      .limit(limit)
      .execute();
    return rows.map((row) => BigInt(row.position_id));
  }
}
