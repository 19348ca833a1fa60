/** Questions to the rows of the cover market. Cover in whole dollars, money in USDG base units, NAVs dollars x 1e18. */
import { type Kysely, sql } from 'kysely';
import type { Address } from 'viem';
import type { CoverTables } from './cover-tables.ts';
import type { OpenOffer } from './fill-offers.ts';
import type { Range } from './terms.ts';

/** `owner` in lower case. */
export type Offer = OpenOffer & Range & { owner: string };

/** Of each range, so many of the cheapest offers and so many of the largest. */
export type OffersWanted = {
  cheapest: number;
  largest: number;
  /** Ranked apart from all others: nobody buys of himself. */
  account?: string | undefined;
  /** What a key can take: of this range, at this price at most, not its account's own. */
  takeable?: Range & { mostPrice: bigint };
};

export type Offers = {
  /** The cheapest first, then the oldest. */
  offers: Offer[];
  /** Open cover of those that were not wanted. */
  leftOutUsd: bigint;
};

export type OpenListing = Range & {
  id: string;
  side: 'offer' | 'request';
  week: number;
  vault: Address;
  pricePer1k: bigint;
  openUsd: number;
  listedUsd: number;
};

export type PositionRow = Range & {
  id: string;
  week: number;
  vault: Address;
  role: 'buyer' | 'underwriter';
  coverUsd: number;
  premium: bigint;
  fee: bigint;
  /** To this side; null while it is not paid. */
  paidOut: bigint | null;
};

/** Of one basket's week; `void` has neither NAV in it that counts. */
export type WeekOutcome = { closeNav: bigint | null; settleNav: bigint | null; isVoid: boolean };

/** Bound one answer; what is left out is said. */
const MOST_POSITIONS = 500;
const MOST_LISTINGS = 500;
/** Of all ranges of a week together, so that what is cheap in one hides nothing of another. */
const MOST_OFFERS = 10_000;

/** PostgreSQL sums integers to decimal text. */
const SOLD_USD = sql<
  number | string
>`coalesce((select sum(cover_sale.cover_usd) from cover_sale where cover_sale.listing_id = cover_listing.id), 0)`;

const OF_RANGE = sql`partition by from_bps, to_bps, own`;
/** Decimal text without leading zeros: the shorter one is the smaller. */
const BEST_FIRST = sql`length(price_per_1k), price_per_1k, block, log_index`;

export class CoverIndex {
  readonly #db: Kysely<CoverTables>;

  constructor(db: Kysely<CoverTables>) {
    this.#db = db;
  }

  /** Listings with something open. */
  #open() {
    return this.#db
      .selectFrom('cover_listing')
      .selectAll()
      .select(SOLD_USD.as('sold_usd'))
      .where(sql<boolean>`cover_listing.cover_usd > ${SOLD_USD}`)
      .where((where) =>
        where.not(
          where.exists(
            where
              .selectFrom('cover_listing_end')
              .select('cover_listing_end.id')
              .whereRef('cover_listing_end.id', '=', 'cover_listing.id')
              .where('cover_listing_end.what', '!=', 'stopped_repeating'),
          ),
        ),
      );
  }

  /** Open offers of one basket's week. */
  async offersOf(week: number, vault: Address, wanted: OffersWanted): Promise<Offers> {
    const rows = await this.#db
      .with('open', () => this.#offers(week, vault, wanted))
      .with('ranked', (made) =>
        made
          .selectFrom('open')
          .selectAll()
          .select([
            sql<number | string>`sum(open_usd) over ()`.as('all_usd'),
            sql<number>`row_number() over (${OF_RANGE} order by ${BEST_FIRST})`.as('by_price'),
            sql<number>`row_number() over (${OF_RANGE} order by open_usd desc, ${BEST_FIRST})`.as(
              'by_size',
            ),
          ]),
      )
      .selectFrom('ranked')
      .selectAll()
      .where((where) =>
        where.or([
          where('by_price', '<=', wanted.cheapest),
          where('by_size', '<=', wanted.largest),
        ]),
      )
      .orderBy('by_price')
      .limit(MOST_OFFERS)
      .execute();
    const offers = rows
      .toSorted(
        (a, b) =>
          Number(BigInt(a.price_per_1k) - BigInt(b.price_per_1k)) ||
          a.block - b.block ||
          a.log_index - b.log_index,
      )
      .map((row) => ({
        id: BigInt(row.id),
        owner: row.owner,
        fromBps: row.from_bps,
        toBps: row.to_bps,
        pricePer1k: BigInt(row.price_per_1k),
        openUsd: BigInt(row.open_usd),
      }));
    const shown = offers.reduce((sum, { openUsd }) => sum + openUsd, 0n);
    return { offers, leftOutUsd: BigInt(rows[0]?.all_usd ?? 0) - shown };
  }

  /** `own`: 1 for those of the account asked about. */
  #offers(week: number, vault: Address, { account = '', takeable }: OffersWanted) {
    const own = account.toLowerCase();
    const all = this.#open()
      .select([
        sql<number | string>`cover_listing.cover_usd - ${SOLD_USD}`.as('open_usd'),
        sql<number>`case when owner = ${own} then 1 else 0 end`.as('own'),
      ])
      .where('week', '=', week)
      .where('vault', '=', vault.toLowerCase())
      .where('side', '=', 'offer');
    if (takeable === undefined) return all;
    const most = takeable.mostPrice.toString();
    return all
      .where('from_bps', '=', takeable.fromBps)
      .where('to_bps', '=', takeable.toBps)
      .where('owner', '!=', own)
      .where(sql<boolean>`(length(price_per_1k), price_per_1k) <= (${most.length}, ${most})`);
  }

  /** Open listings of one account, the newest first. */
  async listingsOf(account: Address): Promise<{ listings: OpenListing[]; more: boolean }> {
    const rows = await this.#open()
      .where('owner', '=', account.toLowerCase())
      .orderBy('block', 'desc')
      .orderBy('log_index', 'desc')
      .limit(MOST_LISTINGS + 1)
      .execute();
    return {
      more: rows.length > MOST_LISTINGS,
      listings: rows.slice(0, MOST_LISTINGS).map((row) => ({
        id: row.id,
        side: row.side,
        week: row.week,
        vault: row.vault as Address,
        fromBps: row.from_bps,
        toBps: row.to_bps,
        pricePer1k: BigInt(row.price_per_1k),
        openUsd: row.cover_usd - Number(row.sold_usd),
        listedUsd: row.cover_usd,
      })),
    };
  }

  /** What an account bought and underwrote, the newest first. */
  async positionsOf(account: Address): Promise<{ positions: PositionRow[]; more: boolean }> {
    const own = account.toLowerCase();
    const rows = await this.#db
      .selectFrom('cover_sale')
      .innerJoin('cover_listing', 'cover_listing.id', 'cover_sale.listing_id')
      .leftJoin('cover_payout', 'cover_payout.position_id', 'cover_sale.position_id')
      .select([
        'cover_sale.position_id',
        'cover_sale.buyer',
        'cover_sale.cover_usd',
        'cover_sale.premium',
        'cover_sale.fee',
        'cover_listing.week',
        'cover_listing.vault',
        'cover_listing.from_bps',
        'cover_listing.to_bps',
        'cover_payout.to_buyer',
        'cover_payout.to_underwriter',
      ])
      .where((where) =>
        where.or([where('cover_sale.buyer', '=', own), where('cover_sale.underwriter', '=', own)]),
      )
      .orderBy('cover_sale.block', 'desc')
      .orderBy('cover_sale.log_index', 'desc')
      .limit(MOST_POSITIONS + 1)
      .execute();
    return {
      more: rows.length > MOST_POSITIONS,
      // Nobody buys of himself (rule 21), so a row has one role.
      positions: rows.slice(0, MOST_POSITIONS).map((row) => {
        const role = row.buyer === own ? 'buyer' : 'underwriter';
        const paidOut = role === 'buyer' ? row.to_buyer : row.to_underwriter;
        return {
          id: row.position_id,
          week: row.week,
          vault: row.vault as Address,
          role,
          fromBps: row.from_bps,
          toBps: row.to_bps,
          coverUsd: row.cover_usd,
          premium: BigInt(row.premium),
          fee: BigInt(row.fee),
          paidOut: paidOut === null ? null : BigInt(paidOut),
        };
      }),
    };
  }

  /** USDG that the market could not deliver to an account, and that it has not collected. */
  async creditOf(account: Address): Promise<bigint> {
    const rows = await this.#db
      .selectFrom('cover_credit')
      .select(['what', 'amount'])
      .where('account', '=', account.toLowerCase())
      .execute();
    return rows.reduce(
      (sum, { what, amount }) => sum + (what === 'credited' ? BigInt(amount) : -BigInt(amount)),
      0n,
    );
  }

  /** Outcomes of a basket's weeks, or of all baskets' where none is named, by {@link outcomeKey}. */
  async outcomesOf(weeks: readonly number[], vault?: Address): Promise<Map<string, WeekOutcome>> {
    if (weeks.length === 0) return new Map();
    const asked = this.#db
      .selectFrom('cover_outcome')
      .select(['what', 'week', 'vault', 'nav'])
      .where('week', 'in', [...weeks]);
    const rows = await (vault === undefined
      ? asked
      : asked.where('vault', '=', vault.toLowerCase())
    ).execute();
    const outcomes = new Map<string, WeekOutcome>();
    for (const row of rows) {
      const key = outcomeKey(row.week, row.vault);
      const known = outcomes.get(key) ?? { closeNav: null, settleNav: null, isVoid: false };
      if (row.what === 'void') known.isVoid = true;
      else if (row.what === 'closed') known.closeNav = row.nav === null ? null : BigInt(row.nav);
      else known.settleNav = row.nav === null ? null : BigInt(row.nav);
      outcomes.set(key, known);
    }
    return outcomes;
  }
}

export const outcomeKey = (week: number, vault: string): string => `${week}:${vault.toLowerCase()}`;
