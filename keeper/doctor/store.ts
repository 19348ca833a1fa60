/** The keeper's store: whether it can be written, and who has it. */
import type { Finding } from '../../runtime/doctor/finding.ts';
import { checkStoreOf } from '../../runtime/doctor/store.ts';
import { LEAD_NAME } from '../config.ts';
import { type StoreTables, storeMigrations } from '../journal/migrations.ts';

/** Opens it as a keeper does, which brings its tables up to date, and closes it again. */
export async function checkStore(url: string): Promise<Finding[]> {
  return await checkStoreOf<StoreTables>({
    url,
    migrations: storeMigrations,
    name: LEAD_NAME,
    who: 'keeper',
    describe: async ({ db }) => {
      const { count } = await db
        .selectFrom('keeper_attempts')
        .select(({ fn }) => fn.countAll().as('count'))
        .executeTakeFirstOrThrow();
      return `${String(count)} attempts in the journal`;
    },
  });
}
