import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Migrations, openStore, type Store } from '../../runtime/store/store.ts';
import { insertRows } from './insert-rows.ts';

type Row = { block: number; log_index: number; amount: string; note: string | null };
type Tables = { one: Row; many: Row };

const migrations: Migrations = {
  'rows-001': {
    up: async (db) => {
      for (const table of ['one', 'many']) {
        await db.schema
          .createTable(table)
          .addColumn('block', 'bigint', (column) => column.notNull())
          .addColumn('log_index', 'bigint', (column) => column.notNull())
          .addColumn('amount', 'text', (column) => column.notNull())
          .addColumn('note', 'text')
          .addPrimaryKeyConstraint(`${table}_key`, ['block', 'log_index'])
          .execute();
      }
    },
  },
};

/** What a text in between could change: digits that are no number, words of JSON, quotes, other scripts. */
const NOTES = [
  null,
  'null',
  'true',
  '007',
  '1e3',
  '',
  '"',
  "'",
  '\\u0000',
  '[1,2]',
  '{"a":1}',
  'ß 株',
];
const rows = Array.from(
  { length: 11_003 },
  (_, index): Row => ({
    block: index === 0 ? Number.MAX_SAFE_INTEGER : Math.floor(index / 7),
    log_index: index % 7,
    amount: (2n ** 256n - BigInt(index)).toString(),
    note: NOTES[index % NOTES.length] ?? null,
  }),
);

let store: Store<Tables>;
beforeEach(async () => {
  store = await openStore<Tables>({ url: 'file::memory:', migrations });
});
afterEach(async () => {
  await store.close();
});

const dump = async (table: keyof Tables) =>
  (
    await sql`
      select *, typeof(block), typeof(log_index), typeof(amount), typeof(note)
      from ${sql.table(table)} order by block, log_index`.execute(store.db)
  ).rows;

it('writes many rows as it writes few', async () => {
  await insertRows(store.db, 'many', rows);
  for (let start = 0; start < rows.length; start += 40) {
    await insertRows(store.db, 'one', rows.slice(start, start + 40));
  }
  const many = await dump('many');
  expect(many).toHaveLength(rows.length);
  expect(many).toEqual(await dump('one'));
});

it.each([0, 300, 399])(
  'keeps a text of more bytes than characters, though only row %i has one',
  async (at) => {
    const plain = rows.slice(1, 401).map((row): Row => ({ ...row, note: 'as wide as all' }));
    const [first, second] = ['as wide as a株', 'ß'];
    for (const note of [first, second]) {
      const bent = plain.map((row, index): Row => (index === at ? { ...row, note } : row));
      await store.db.deleteFrom('many').execute();
      await insertRows(store.db, 'many', bent);
      expect(await store.db.selectFrom('many').selectAll().execute()).toEqual(bent);
    }
  },
);

it.each([
  ['ab', 'ßa'],
  [
    'a text of more characters than are written one by one',
    'a text of more characters than are written one by öne',
  ],
  ['x', '株'],
])('keeps a text that would run over the end of the table', async (note, last) => {
  const bent = rows
    .slice(1, 401)
    .map((row, index): Row => ({ ...row, note: index === 399 ? last : note }));
  await insertRows(store.db, 'many', bent);
  expect(await store.db.selectFrom('many').selectAll().execute()).toEqual(bent);
});

it('changes nothing of rows that are there already', async () => {
  const first = rows.slice(500, 900);
  await insertRows(store.db, 'many', first);
  const other = rows.slice(0, 2_000).map((row) => ({ ...row, note: 'another' }));
  await insertRows(store.db, 'many', other);
  const kept = await store.db
    .selectFrom('many')
    .selectAll()
    .where('note', 'is not', 'another')
    .execute();
  expect(kept).toEqual(first);
  expect(await dump('many')).toHaveLength(2_000);
});

it('takes none', async () => {
  await insertRows(store.db, 'many', []);
  expect(await dump('many')).toEqual([]);
});

it.each([200, 400])(
  'puts %i rows under their columns, in whatever order each names them',
  async (count) => {
    const turned = rows.slice(0, count).map((row, index): Row => {
      const { block, log_index, amount, note } = row;
      return index % 2 === 0 ? row : { note, amount, log_index, block };
    });
    await insertRows(store.db, 'many', turned);
    const kept = await store.db
      .selectFrom('many')
      .selectAll()
      .orderBy('block')
      .orderBy('log_index')
      .execute();
    expect(kept.filter(({ block }) => block !== Number.MAX_SAFE_INTEGER)).toEqual(
      rows.slice(1, count),
    );
  },
);

it.each([
  ['nothing', undefined],
  ['a fraction', 0.5],
  ['no number', Number.NaN],
  ['more than a number holds', 2 ** 53],
  ['a bigint', 1n],
  ['half a character', '\ud800'],
  ['a text that holds NUL', 'a\0b'],
])('refuses %s rather than write something else', async (_name, value) => {
  const bent = rows.slice(0, 400);
  bent[399] = { block: 9, log_index: 9, amount: value as unknown as string, note: null };
  await expect(insertRows(store.db, 'many', bent)).rejects.toThrow('a row of an insert has');
  expect(await dump('many')).toEqual([]);
});
