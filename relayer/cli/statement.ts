/** `statement`: what was earned and spent, from the store alone; a relayer may run meanwhile. */
import { sinceOf } from '../../runtime/cli/since.ts';
import { type GroupBy, readStatement } from '../money/statement.ts';
import { statementCsv, statementTable } from '../money/statement-text.ts';
import { besideRelayer } from '../store.ts';

export type StatementOrder = { since: string; csv: boolean; by: GroupBy };

/** Returns the exit code: 0, or 2 for a time that is none. */
export async function runStatement(
  { since, csv, by }: StatementOrder,
  env: NodeJS.ProcessEnv,
  write: (text: string) => void,
  nowMs: number = Date.now(),
): Promise<number> {
  const sinceMs = sinceOf(since, nowMs);
  if (sinceMs === null) {
    write(`--since ${since} is no time: give a UTC day (2026-11-01), days (7d) or hours (36h)\n`);
    return 2;
  }
  const statement = await besideRelayer(env, true, ({ db }) => readStatement(db, sinceMs, by));
  write(csv ? statementCsv(statement) : `${statementTable(statement).join('\n')}\n`);
  return 0;
}
