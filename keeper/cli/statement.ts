/** `statement`: what was earned and spent, from the journal alone; a keeper may run meanwhile. */
import { printStatement, type StatementOrder } from '../../runtime/cli/statement.ts';
import { loadConfig, storeOptions } from '../../runtime/config.ts';
import { openStore } from '../../runtime/store/store.ts';
import { DEFAULT_DATABASE_URL } from '../config.ts';
import { type StoreTables, storeMigrations } from '../journal/migrations.ts';
import { type GroupBy, readStatement, type Statement } from '../money/statement.ts';
import { statementCsv, statementTable } from '../money/statement-text.ts';

/** Returns the exit code: 0, or 2 for a time that is none. */
export async function runStatement(
  order: StatementOrder<GroupBy>,
  env: NodeJS.ProcessEnv,
  write: (text: string) => void,
): Promise<number> {
  const { DATABASE_URL: url = DEFAULT_DATABASE_URL } = loadConfig(storeOptions, env);
  const read = async (since: number, by: GroupBy): Promise<Statement> => {
    const store = await openStore<StoreTables>({
      url,
      migrations: storeMigrations,
      readOnly: true,
    });
    try {
      return await readStatement(store.db, since, by);
    } finally {
      await store.close();
    }
  };
  return await printStatement(order, { read, csv: statementCsv, table: statementTable }, write);
}
