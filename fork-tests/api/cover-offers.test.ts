/** Which offers of a week are found, on SQLite and on PostgreSQL. */
import { describe, expect, test } from 'vitest';
import { usePostgres } from '../harness/postgres.ts';
import { openStore } from '../../runtime/store/store.ts';
import { CoverIndex } from '../../api/cover/cover-index.ts';
import {
  type CoverListingRow,
  coverMigrations,
  type CoverTables,
} from '../../api/cover/cover-tables.ts';

const postgres = usePostgres();
const VAULT = '0x00000000000000000000000000000000000000aa';
const WEEK = 2_970;
const LOW = { fromBps: 300, toBps: 1_000 };
const OWN = '0x0000000000000000000000000000000000000001';
const OTHER = '0x0000000000000000000000000000000000000002';
const MANY = 600;

const row = (id: number, more: Partial<CoverListingRow>): CoverListingRow => ({
  block: id,
  log_index: 0,
  time: id,
  id: String(id),
  owner: OTHER,
  side: 'offer',
  repeats: 0,
  week: WEEK,
  vault: VAULT,
  from_bps: 2_900,
  to_bps: 3_000,
  cover_usd: 50,
  price_per_1k: '10000',
  ...more,
});

/** $50 each in one range: an own one, then the cheapest; then a large dear one. Beside them one range of three. */
const ROWS = [
  row(1, { owner: OWN, cover_usd: 9_000, price_per_1k: '10000' }),
  ...Array.from({ length: MANY }, (_, at) =>
    row(2 + at, { price_per_1k: `${9_990_000 + 10_000 * at}` }),
  ),
  row(1_000, { cover_usd: 4_000, price_per_1k: '20000000' }),
  ...(['5900000', '10000000', '900000'] as const).map((price, at) =>
    row(1_001 + at, { from_bps: 300, to_bps: 1_000, price_per_1k: price, cover_usd: 100 + at }),
  ),
];

const stores = [
  ['SQLite', () => Promise.resolve('file::memory:')],
  ['PostgreSQL', () => postgres.database('offers')],
] as const;

describe.each(stores)('on %s', (_name, urlOf) => {
  test('the cheapest and the largest of each range are found, whatever is cheap in another', async () => {
    const store = await openStore<CoverTables>({ url: await urlOf(), migrations: coverMigrations });
    try {
      for (let at = 0; at < ROWS.length; at += 50) {
        await store.db
          .insertInto('cover_listing')
          .values(ROWS.slice(at, at + 50))
          .execute();
      }
      const sale = { position_id: '1', listing_id: '1001', buyer: OWN, underwriter: OTHER };
      await store.db
        .insertInto('cover_sale')
        .values({
          ...sale,
          block: 2_000,
          log_index: 0,
          time: 1,
          cover_usd: 60,
          premium: '1',
          fee: '1',
        })
        .execute();
      const index = new CoverIndex(store.db);
      const idsOf = ({ offers }: { offers: { id: bigint }[] }) =>
        offers.map(({ id }) => Number(id));

      const shown = await index.offersOf(WEEK, VAULT, { cheapest: 5, largest: 1, account: OWN });
      expect(idsOf(shown)).toEqual([1, 1_003, 1_001, 2, 3, 1_002, 4, 5, 6, 1_000]);
      expect(shown.offers.map(({ openUsd }) => Number(openUsd)).slice(0, 3)).toEqual([
        9_000, 102, 40,
      ]);
      expect(Number(shown.leftOutUsd)).toBe(50 * (MANY - 5));

      const takeable = { ...LOW, mostPrice: 5_900_000n };
      const low = await index.offersOf(WEEK, VAULT, {
        cheapest: 1,
        largest: 0,
        account: OWN,
        takeable,
      });
      expect([idsOf(low), low.leftOutUsd]).toEqual([[1_003], 40n]);
      const wide = { fromBps: 2_900, toBps: 3_000, mostPrice: 30_000_000n };
      const large = await index.offersOf(WEEK, VAULT, {
        cheapest: 2,
        largest: 1,
        account: OWN,
        takeable: wide,
      });
      expect(idsOf(large)).toEqual([2, 3, 1_000]);
      const none = await index.offersOf(WEEK + 1, VAULT, { cheapest: 5, largest: 5 });
      expect(none).toEqual({ offers: [], leftOutUsd: 0n });
    } finally {
      await store.close();
    }
  });
});
