import { sql } from 'kysely';
import type { Store } from '../../runtime/store/store.ts';

/**
 * PostgreSQL plans by what it last counted, and by itself counts a minute after many rows came. To be called once a
 * sync from an early block has reached the head; SQLite plans these queries without.
 */
export async function gatherStatistics<DB>({ db, dialect }: Store<DB>): Promise<void> {
  if (dialect === 'postgres') await sql`analyze`.execute(db);
}
