/**
 * How the stores look up what is due, of 100,000 open orders and as many schedules in one basket: by ranges of an
 * index, never by walking what is open.
 */
import { type CompiledQuery, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dueQuery, expiredQuery } from '../../api/jobs/due-index.ts';
import { dueSlotsQuery, endedQuery } from '../../api/jobs/due-slots.ts';
import { START } from '../../api/jobs/turns.ts';
import { type ApiTables, apiMigrations } from '../../api/tables.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { usePostgres } from '../harness/postgres.ts';

const MANY = 100_000;
const DUE = 10;
const VAULT = `0x${'04'.repeat(20)}` as const;
/** Of the basket now; `NOW` is a time at which some schedules are due and others have ended. */
const NAV = 100n * 10n ** 18n;
const NOW = 1_000_000;

const postgres = usePostgres();
const stores: Partial<Record<Kind, Store<ApiTables>>> = {};
const KINDS = ['SQLite', 'PostgreSQL'] as const;
type Kind = (typeof KINDS)[number];

function dbOf(kind: Kind): Store<ApiTables>['db'] {
  const store = stores[kind];
  if (store === undefined) throw new Error(`${kind} is not open`);
  return store.db;
}

beforeAll(async () => {
  const urls = { SQLite: 'file::memory:', PostgreSQL: await postgres.database('plans') };
  for (const kind of KINDS) {
    stores[kind] = await openStore<ApiTables>({ url: urls[kind], migrations: apiMigrations });
    await fill(kind);
  }
});
afterAll(async () => {
  for (const kind of KINDS) await stores[kind]?.close();
});

/** Stops, take-profits and limits in turn, each at a level of its own; the last few are triggered. */
async function fill(kind: Kind): Promise<void> {
  const db = dbOf(kind);
  const below = sql`'4' || (1000000000 + i) || '000000000'`;
  const above = sql`'2' || (1000000000 + i) || '0000000000'`;
  const due = sql`i >= ${sql.lit(MANY - DUE)}`;
  const numbers = sql`with recursive n(i) as (select 0 union all select i + 1 from n where i < ${sql.lit(MANY - 1)})`;
  await sql`insert into order_index (id, escrow, kind, owner, vault, amount, stop_nav, tp_nav, trigger_nav, deadline, opened_block, opened_log) ${numbers} select 'order ' || i, 'escrow', case when i % 3 = 2 then 'limit' else 'exit' end, 'owner', ${sql.lit(VAULT)}, '1', case when i % 3 <> 0 then '0' when ${due} then '9' || ${above} else ${below} end, case when i % 3 <> 1 then '0' when ${due} then ${below} else ${above} end, case when i % 3 <> 2 then '0' when ${due} then '9' || ${above} else ${below} end, 4000000000 + i, i, 0 from n`.execute(
    db,
  );
  await sql`insert into schedule_index (id, escrow, owner, vault, kind, total, slots, "interval", start_at, next_at, slippage_bps, cap_bps, opened_block, opened_log) ${numbers} select 'schedule ' || i, 'escrow', 'owner', ${sql.lit(VAULT)}, 'subscribe', '100', 10, 100, ${sql.lit(NOW - 1_000 - DUE)} + i, ${sql.lit(NOW - 1_000 - DUE)} + i + case when i < 1200 then 900 else 1000 end, 100, 500, i, 0 from n`.execute(
    db,
  );
}

/** What reads a table, each as the store names it. */
async function readsOf(kind: Kind, query: CompiledQuery<object>): Promise<string[]> {
  const words = kind === 'SQLite' ? 'explain query plan ' : 'explain ';
  const { rows } = await dbOf(kind).executeQuery<Record<string, string>>({
    ...query,
    sql: words + query.sql,
  });
  return rows
    .map((row) => row.detail ?? row['QUERY PLAN'] ?? '')
    .filter((line) => /\b(SCAN|SEARCH|Scan)\b/.test(line))
    .filter((line) => /(order|schedule)_index/.test(line));
}

/** The index that each read goes by; the line itself where it goes by none. */
async function indexesOf(kind: Kind, query: CompiledQuery<object>): Promise<string[]> {
  const lines = await readsOf(kind, query);
  return lines
    .filter((line) => !line.includes('Bitmap Heap Scan'))
    .map(
      (line) =>
        /(?:USING INDEX|Index Scan using|Bitmap Index Scan on) (\w+)/.exec(line)?.[1] ?? line,
    );
}

const queries = (kind: Kind) => {
  const db = dbOf(kind);
  return {
    triggered: dueQuery([{ vault: VAULT, nav: NAV }], NOW, START, 300).compile(db),
    expired: expiredQuery(db, NOW, 100).compile(),
    slots: dueSlotsQuery([VAULT], NOW, START, 300).compile(db),
    ended: endedQuery(NOW, 100).compile(db),
  };
};

async function expectIndexes(kind: Kind): Promise<void> {
  const { triggered, expired, slots, ended } = queries(kind);
  expect({
    triggered: await indexesOf(kind, triggered),
    expired: await indexesOf(kind, expired),
    slots: await indexesOf(kind, slots),
    ended: await indexesOf(kind, ended),
  }).toEqual({
    triggered: ['order_index_below', 'order_index_above'],
    expired: ['order_index_expiry'],
    slots: ['schedule_index_next'],
    ended: ['schedule_index_end'],
  });
}

describe.for(KINDS)('%s', (kind) => {
  test('finds the few that are due', async () => {
    const db = dbOf(kind);
    const { triggered, expired, ended } = queries(kind);
    expect((await db.executeQuery(triggered)).rows).toHaveLength(DUE);
    expect((await db.executeQuery(expired)).rows).toHaveLength(0);
    expect((await db.executeQuery(ended)).rows).toHaveLength(DUE + 1);
  });

  test('by ranges of indexes, before and after it gathered statistics', async () => {
    await expectIndexes(kind);
    await sql`analyze`.execute(dbOf(kind));
    await expectIndexes(kind);
  });
});
