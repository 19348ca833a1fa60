/** Reads and writes of the NAV tables. Every write is part of the caller's transaction. */
import type { Kysely, Transaction } from 'kysely';
import { beginEpoch } from '../indexer/epoch.ts';
import { insertRows } from '../indexer/insert-rows.ts';
import { joined, MINUTE, startOf, type TradedSpan } from './minutes.ts';
import type { NavTables } from './nav-tables.ts';

export const HOUR = 3_600;
export const DAY = 86_400;

type Trx = Transaction<NavTables>;
type SpanRow = NavTables['nav_span'];
export type NavDb = Kysely<NavTables> | Trx;

/** Puts `rows`, in order of time, in the place of all minutes from `from` on, and joins hours and days anew. */
export async function replaceMinutes(
  trx: Trx,
  vaults: readonly string[],
  from: number,
  rows: readonly TradedSpan[],
): Promise<void> {
  if (vaults.length === 0) return;
  let shorter = { span: MINUTE, from, rows };
  const anew = [shorter];
  for (const span of [HOUR, DAY]) {
    const opens = startOf(shorter.from, span);
    const earlier = await spansBetween(trx, vaults, shorter.span, opens, shorter.from);
    shorter = { span, from: opens, rows: joined([...earlier, ...shorter.rows], span) };
    anew.push(shorter);
  }
  for (const { span, from: start } of anew) {
    await trx
      .deleteFrom('nav_span')
      .where('vault', 'in', vaults)
      .where('span', '=', span)
      .where('start', '>=', start)
      .execute();
  }
  await insertRows(
    trx,
    'nav_span',
    anew.flatMap(({ span, rows: spans }) => spans.map((each) => rowOf(each, span))),
  );
}

function rowOf({ vault, start, high, low, value }: TradedSpan, span: number): SpanRow {
  return {
    vault,
    span,
    start,
    high: high.toString(),
    low: low.toString(),
    value: value.toString(),
  };
}

/** From `from` up to but not at `to`, in order of time. */
export async function spansBetween(
  db: NavDb,
  vaults: readonly string[],
  span: number,
  from: number,
  to: number,
): Promise<TradedSpan[]> {
  if (from >= to) return [];
  const rows = await db
    .selectFrom('nav_span')
    .selectAll()
    .where('vault', 'in', vaults)
    .where('span', '=', span)
    .where('start', '>=', from)
    .where('start', '<', to)
    .orderBy('start')
    .execute();
  return rows.map(spanOf);
}

/** The newest span that starts before `time`. */
export async function spanBefore(
  db: NavDb,
  vault: string,
  span: number,
  time: number,
): Promise<TradedSpan | null> {
  const row = await db
    .selectFrom('nav_span')
    .selectAll()
    .where('vault', '=', vault)
    .where('span', '=', span)
    .where('start', '<', time)
    .orderBy('start', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : spanOf(row);
}

function spanOf(row: NavTables['nav_span']): TradedSpan {
  return {
    vault: row.vault,
    start: row.start,
    high: BigInt(row.high),
    low: BigInt(row.low),
    value: BigInt(row.value),
  };
}

/** Baskets with a history, and their values at genesis where those are known. */
export async function openings(db: NavDb): Promise<Map<string, bigint | null>> {
  const rows = await db.selectFrom('nav_basket').selectAll().execute();
  return new Map(
    rows.map(({ vault, opening }) => [vault, opening === null ? null : BigInt(opening)]),
  );
}

export async function writeOpening(
  db: NavDb,
  vault: string,
  opening: bigint | null,
): Promise<void> {
  await db
    .updateTable('nav_basket')
    .set({ opening: opening === null ? null : opening.toString() })
    .where('vault', '=', vault)
    .execute();
}

export async function addBaskets(
  trx: Trx,
  vaults: readonly string[],
  opened: ReadonlyMap<string, bigint>,
): Promise<void> {
  if (vaults.length === 0) return;
  const rows = vaults.map((vault) => ({ vault, opening: opened.get(vault)?.toString() ?? null }));
  await trx.insertInto('nav_basket').values(rows).execute();
}

export async function dropSpans(trx: Trx, vaults: readonly string[]): Promise<void> {
  await trx.deleteFrom('nav_span').where('vault', 'in', vaults).execute();
}

export async function dropAll(trx: Trx): Promise<void> {
  const tables = ['nav_basket', 'nav_span', 'nav_pool', 'nav_swap', 'nav_tape'] as const;
  for (const table of tables) {
    await trx.deleteFrom(table).execute();
  }
  await beginEpoch(trx, 'tape');
}
