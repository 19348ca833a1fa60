/**
 * NAV samples, one a minute and basket, kept for change24h and for charts. Times are the chain's, in unix seconds at
 * the start of the minute; NAVs are dollars x 1e18 as decimal text.
 */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import type { Migrations } from '../../runtime/store/store.ts';
import type { Snapshot } from './snapshot.ts';

export type NavSampleTables = {
  nav_sample: { vault: string; minute: number; nav: string };
};

export const navSampleMigrations: Migrations = {
  'api-001-nav-samples': {
    up: async (db) => {
      await db.schema
        .createTable('nav_sample')
        .addColumn('vault', 'text', (column) => column.notNull())
        .addColumn('minute', 'bigint', (column) => column.notNull())
        .addColumn('nav', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('nav_sample_key', ['vault', 'minute'])
        .execute();
    },
  },
};

const MINUTE = 60;
const DAY = 86_400;
/** A gap in the samples around 24 hours ago of at most this is bridged by the nearest earlier sample. */
const TOLERATED_GAP = 1_800;

export function minuteOf(chainTime: number): number {
  return chainTime - (chainTime % MINUTE);
}

/** Keeps the first sample of each minute: a rewind of a test chain or a reorg changes nothing written. */
export async function keepSample<T extends NavSampleTables>(
  db: Kysely<T>,
  snapshot: Snapshot,
): Promise<void> {
  const minute = minuteOf(snapshot.chainTime);
  const rows = [...snapshot.marks].flatMap(([vault, { nav }]) =>
    nav === null ? [] : [{ vault, minute, nav: nav.toString() }],
  );
  if (rows.length === 0) return;
  await (db as unknown as Kysely<NavSampleTables>)
    .insertInto('nav_sample')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['vault', 'minute']).doNothing())
    .execute();
}

/** NAV 24 hours before `chainTime` per vault; a vault without a sample from then is absent. */
export async function navsDayBefore<T extends NavSampleTables>(
  db: Kysely<T>,
  chainTime: number,
): Promise<Map<Address, bigint>> {
  const then = minuteOf(chainTime - DAY);
  const rows = await (db as unknown as Kysely<NavSampleTables>)
    .selectFrom('nav_sample')
    .select(['vault', 'nav', 'minute'])
    .where('minute', '<=', then)
    .where('minute', '>=', then - TOLERATED_GAP)
    .orderBy('minute')
    .execute();
  return new Map(rows.map(({ vault, nav }) => [vault as Address, BigInt(nav)]));
}

/** now / then - 1; null without a NAV at either end. */
export function changeSince(now: bigint | null, then: bigint | undefined): number | null {
  if (now === null || then === undefined || then === 0n) return null;
  return Number(((now - then) * 1_000_000_000n) / then) / 1e9;
}
