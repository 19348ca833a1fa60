/** Positions that the index knows as sold and not yet paid. The chain says which of them are due. */
import { type Kysely, sql } from 'kysely';
import type { Address } from 'viem';
import type { DuePosition } from '../../runtime/cover/payout-turns.ts';
import { type EpochTables, readEpoch } from '../indexer/epoch.ts';
import type { CoverTables } from './cover-tables.ts';

export class UnpaidPositions {
  readonly #db: Kysely<CoverTables & EpochTables>;

  constructor(db: Kysely<CoverTables & EpochTables>) {
    this.#db = db;
  }

  /**
   * Of one basket's week, at most `limit`: those with the largest fees first, then the largest. Costs what that week
   * sold, not what all weeks did.
   */
  async of(week: number, vault: Address, limit: number): Promise<DuePosition[]> {
    const rows = await this.#sales(week, vault)
      .leftJoin('cover_payout', 'cover_payout.position_id', 'cover_sale.position_id')
      .select(['cover_sale.position_id', 'cover_sale.fee', 'cover_sale.cover_usd'])
      .where('cover_payout.position_id', 'is', null)
      .orderBy(sql`cast(cover_sale.fee as bigint)`, 'desc')
      .orderBy('cover_sale.cover_usd', 'desc')
      .orderBy('cover_sale.block')
      .orderBy('cover_sale.log_index')
      .limit(limit)
      .execute();
    return rows.map(({ position_id, fee, cover_usd }) => ({
      id: BigInt(position_id),
      fee: BigInt(fee),
      coverUsd: cover_usd,
    }));
  }

  /** Whole dollars of cover that the index knows as sold in one basket's week. */
  async soldUsd(week: number, vault: Address): Promise<bigint> {
    const row = await this.#sales(week, vault)
      .select(({ fn }) => fn.sum<number | string | null>('cover_sale.cover_usd').as('sold'))
      .executeTakeFirst();
    return BigInt(row?.sold ?? 0);
  }

  /** Another one once rows were undone: what was paid may be unpaid again. */
  epoch(): Promise<string> {
    return readEpoch(this.#db);
  }

  #sales(week: number, vault: Address) {
    return this.#db
      .selectFrom('cover_listing')
      .innerJoin('cover_sale', 'cover_sale.listing_id', 'cover_listing.id')
      .where('cover_listing.week', '=', week)
      .where('cover_listing.vault', '=', vault.toLowerCase());
  }
}
