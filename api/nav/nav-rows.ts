/** Every row of the NAV history in a fixed order: what tests compare. */
import type { Kysely } from 'kysely';
import type { NavTables } from './nav-tables.ts';

export async function navRows(db: Kysely<NavTables>): Promise<Record<string, unknown[]>> {
  return {
    baskets: await db.selectFrom('nav_basket').selectAll().orderBy('vault').execute(),
    spans: await db
      .selectFrom('nav_span')
      .selectAll()
      .orderBy('vault')
      .orderBy('span')
      .orderBy('start')
      .execute(),
    pools: await db.selectFrom('nav_pool').selectAll().orderBy('pool').execute(),
    swaps: await db
      .selectFrom('nav_swap')
      .selectAll()
      .orderBy('block')
      .orderBy('log_index')
      .execute(),
    tape: await db.selectFrom('nav_tape').selectAll().execute(),
  };
}
