/** The store: whether it can be written, and who has it. */
import { sql } from 'kysely';
import { faultLine } from '../../runtime/fault-line.ts';
import { StoreHeldError } from '../../runtime/store/errors.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { type StoreTables, storeMigrations } from '../journal/migrations.ts';
import { fail, type Finding, ok } from '../../runtime/doctor/finding.ts';

const NAME = 'keeper-sender';

/** Opens it as a keeper does, which brings its tables up to date, and closes it again. */
export async function checkStore(url: string): Promise<Finding[]> {
  const isFile = url.startsWith('file:');
  try {
    const exclusive = isFile ? { exclusive: NAME } : {};
    const store = await openStore<StoreTables>({ url, migrations: storeMigrations, ...exclusive });
    try {
      return [await describe(store, 'nobody has it open for sending')];
    } finally {
      await store.close();
    }
  } catch (error) {
    if (isFile && error instanceof StoreHeldError) {
      return await heldFile(url);
    }
    const fix = 'check DATABASE_URL, the rights on its folder and the space on its disk';
    return [fail('store', faultLine(error), fix)];
  }
}

/** A keeper has it: reading goes on beside it. */
async function heldFile(url: string): Promise<Finding[]> {
  const store = await openStore<StoreTables>({ url, migrations: storeMigrations });
  try {
    return [await describe(store, 'a keeper has it and runs')];
  } finally {
    await store.close();
  }
}

async function describe(store: Store<StoreTables>, holder: string): Promise<Finding> {
  const { count } = await store.db
    .selectFrom('keeper_attempts')
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  const held = store.dialect === 'postgres' ? await postgresHolder(store) : holder;
  return ok('store', `${store.dialect}, ${String(count)} attempts in the journal; ${held}`);
}

/** Who holds the lead, by the server's own table of locks (leadership.ts takes them). */
async function postgresHolder(store: Store<StoreTables>): Promise<string> {
  const { rows } = await sql<{ who: string | null }>`
    select coalesce(host(a.client_addr), 'local') || ' since ' || a.backend_start::text as who
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.objid::bigint = (hashtext(${NAME})::bigint & 4294967295)
    limit 1`.execute(store.db);
  const who = rows[0]?.who;
  return who === undefined || who === null ? 'no keeper leads' : `a keeper leads from ${who}`;
}
