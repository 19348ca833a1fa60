/** `statement`: what was earned and spent, from the store alone; a relayer may run meanwhile. */
import { printStatement, type StatementOrder } from '../../runtime/cli/statement.ts';
import { type GroupBy, readStatement } from '../money/statement.ts';
import { statementCsv, statementTable } from '../money/statement-text.ts';
import { besideRelayer } from '../store.ts';

/** Returns the exit code: 0, or 2 for a time that is none. */
export async function runStatement(
  order: StatementOrder<GroupBy>,
  env: NodeJS.ProcessEnv,
  write: (text: string) => void,
): Promise<number> {
  return await printStatement(
    order,
    {
      read: (since, by) => besideRelayer(env, true, ({ db }) => readStatement(db, since, by)),
      csv: statementCsv,
      table: statementTable,
    },
    write,
  );
}
