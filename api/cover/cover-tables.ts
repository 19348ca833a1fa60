/**
 * The cover market as its events tell it (ICoverMarket). One row per event, by its log, so undoing a block deletes them.
 * Ids are uint256 as decimal text, addresses lower case, money USDG base units and NAVs dollars x 1e18 as decimal text,
 * cover in whole dollars.
 */
import type { Migrations } from '../../runtime/store/store.ts';

type OfLog = { block: number; log_index: number; time: number };

/** Offers and requests as listed; a listing that was rolled on is listed anew under its next id. */
export type CoverListingRow = OfLog & {
  id: string;
  owner: string;
  side: 'offer' | 'request';
  /** 1 where the owner asked for what is unsold to be rolled on. */
  repeats: number;
  week: number;
  vault: string;
  from_bps: number;
  to_bps: number;
  cover_usd: number;
  price_per_1k: string;
};

/** What became of a listing: `returned` for a cancel or a sending back, `next_id` for a roll. */
export type CoverListingEndRow = OfLog & {
  id: string;
  what: 'cancelled' | 'sent_back' | 'rolled' | 'stopped_repeating';
  returned: string | null;
  next_id: string | null;
};

/** One for each offer taken and each request filled. */
export type CoverSaleRow = OfLog & {
  position_id: string;
  listing_id: string;
  buyer: string;
  underwriter: string;
  cover_usd: number;
  premium: string;
  fee: string;
};

/** The close snapshot, the settlement or the voiding of a basket's week. A void has no NAV. */
export type CoverOutcomeRow = OfLog & {
  what: 'closed' | 'settled' | 'void';
  week: number;
  vault: string;
  nav: string | null;
  /** End of the averaging window, unix seconds. */
  ends_at: number | null;
  executor: string;
  reward: string;
};

export type CoverPayoutRow = OfLog & {
  position_id: string;
  buyer: string;
  underwriter: string;
  to_buyer: string;
  to_underwriter: string;
  fee: string;
};

/** Money that could not be delivered, and its collection by whom it is owed to. */
export type CoverCreditRow = OfLog & {
  account: string;
  what: 'credited' | 'claimed';
  amount: string;
};

export type CoverTables = {
  cover_listing: CoverListingRow;
  cover_listing_end: CoverListingEndRow;
  cover_sale: CoverSaleRow;
  cover_outcome: CoverOutcomeRow;
  cover_payout: CoverPayoutRow;
  cover_credit: CoverCreditRow;
};

export const COVER_TABLES = [
  'cover_listing',
  'cover_listing_end',
  'cover_sale',
  'cover_outcome',
  'cover_payout',
  'cover_credit',
] as const satisfies (keyof CoverTables)[];

/** Column, and its type where that is not text; a question mark where it may be null. */
const COLUMNS: Record<keyof CoverTables, readonly string[]> = {
  cover_listing: [
    'id',
    'owner',
    'side',
    'repeats:bigint',
    'week:bigint',
    'vault',
    'from_bps:bigint',
    'to_bps:bigint',
    'cover_usd:bigint',
    'price_per_1k',
  ],
  cover_listing_end: ['id', 'what', 'returned?', 'next_id?'],
  cover_sale: [
    'position_id',
    'listing_id',
    'buyer',
    'underwriter',
    'cover_usd:bigint',
    'premium',
    'fee',
  ],
  cover_outcome: ['what', 'week:bigint', 'vault', 'nav?', 'ends_at:bigint?', 'executor', 'reward'],
  cover_payout: ['position_id', 'buyer', 'underwriter', 'to_buyer', 'to_underwriter', 'fee'],
  cover_credit: ['account', 'what', 'amount'],
};

const INDEXES: readonly [keyof CoverTables, readonly string[]][] = [
  ['cover_listing', ['id']],
  ['cover_listing', ['owner']],
  ['cover_listing', ['week', 'vault']],
  ['cover_listing_end', ['id']],
  ['cover_sale', ['position_id']],
  ['cover_sale', ['listing_id']],
  ['cover_sale', ['buyer']],
  ['cover_sale', ['underwriter']],
  ['cover_outcome', ['week', 'vault']],
  ['cover_payout', ['position_id']],
  ['cover_credit', ['account']],
];

export const coverMigrations: Migrations = {
  'api-005-cover': {
    up: async (db) => {
      for (const table of COVER_TABLES) if (table !== 'cover_credit') await create(db, table);
    },
  },
};

export const coverCreditMigrations: Migrations = {
  'api-012-cover-credits': {
    up: async (db) => await create(db, 'cover_credit'),
  },
};

type Db = Parameters<Migrations[string]['up']>[0];

async function create(db: Db, table: keyof CoverTables): Promise<void> {
  let made = db.schema
    .createTable(table)
    .addColumn('block', 'bigint', (column) => column.notNull())
    .addColumn('log_index', 'bigint', (column) => column.notNull())
    .addColumn('time', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint(`${table}_key`, ['block', 'log_index']);
  for (const column of COLUMNS[table]) {
    const name = column.replace(/[:?].*$/, '');
    const type = column.includes(':bigint') ? 'bigint' : 'text';
    made = made.addColumn(name, type, (each) => (column.endsWith('?') ? each : each.notNull()));
  }
  await made.execute();
  for (const columns of INDEXES.filter(([of]) => of === table).map(([, names]) => names)) {
    await db.schema
      .createIndex(`${table}_${columns.join('_')}_key`)
      .on(table)
      .columns([...columns])
      .execute();
  }
}
