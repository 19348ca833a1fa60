/** The store of a process: whether it can be written, and who has it. */
import { sql } from 'kysely';
import { faultLine } from '../fault-line.ts';
import { StoreHeldError } from '../store/errors.ts';
import { type Migrations, openStore, type Store } from '../store/store.ts';
import { fail, type Finding, ok } from './finding.ts';

export type StoreCheck<DB> = {
  url: string;
  migrations: Migrations;
  /** Of the lock under which the process sends. */
  name: string;
  /** "keeper", "relayer". */
  who: string;
  /** What it holds, in a few words. */
  describe: (store: Store<DB>) => Promise<string>;
};

/** Opens it as its process does, which brings its tables up to date, and closes it again. */
export async function checkStoreOf<DB>(check: StoreCheck<DB>): Promise<Finding[]> {
  const { url, migrations, name, who } = check;
  const isFile = url.startsWith('file:');
  try {
    const exclusive = isFile ? { exclusive: name } : {};
    const store = await openStore<DB>({ url, migrations, ...exclusive });
    try {
      return [await describe(check, store, 'nobody has it open for sending')];
    } finally {
      await store.close();
    }
  } catch (error) {
    if (isFile && error instanceof StoreHeldError) return await heldFile(check, `a ${who}`);
    const fix = 'check DATABASE_URL, the rights on its folder and the space on its disk';
    return [fail('store', faultLine(error), fix)];
  }
}

/** A process has it: reading goes on beside it. */
async function heldFile<DB>(check: StoreCheck<DB>, holder: string): Promise<Finding[]> {
  const { url, migrations } = check;
  const store = await openStore<DB>({ url, migrations });
  try {
    return [await describe(check, store, `${holder} has it and runs`)];
  } finally {
    await store.close();
  }
}

async function describe<DB>(
  check: StoreCheck<DB>,
  store: Store<DB>,
  holder: string,
): Promise<Finding> {
  const held = store.dialect === 'postgres' ? await postgresHolder(check, store) : holder;
  return ok('store', `${store.dialect}, ${await check.describe(store)}; ${held}`);
}

/** Who holds the lead, by the server's own table of locks (leadership.ts takes them). */
async function postgresHolder<DB>(
  { name, who }: StoreCheck<DB>,
  store: Store<DB>,
): Promise<string> {
  const { rows } = await sql<{ holder: string | null }>`
    select coalesce(host(a.client_addr), 'local') || ' since ' || a.backend_start::text as holder
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.objid::bigint = (hashtext(${name})::bigint & 4294967295)
    limit 1`.execute(store.db);
  const holder = rows[0]?.holder;
  return holder === undefined || holder === null
    ? `no ${who} leads`
    : `a ${who} leads from ${holder}`;
}
