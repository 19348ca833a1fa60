/** The command `statement` of keeper and relayer: what was earned and spent since a time, as a table or as CSV. */
import { parseArgs } from 'node:util';
import { sinceOf } from './since.ts';

export type StatementOrder<Group extends string> = {
  since: string;
  csv: boolean;
  by: Group;
};

const SINCE = '7d';

/** `[--since <time>] [--by <group>] [--csv]`; null where the words are others. */
export function statementOrderOf<Group extends string>(
  words: readonly string[],
  groups: readonly Group[],
): StatementOrder<Group | 'all'> | null {
  let values: { since?: string; by?: string; csv?: boolean };
  try {
    ({ values } = parseArgs({
      args: [...words],
      options: { since: { type: 'string' }, by: { type: 'string' }, csv: { type: 'boolean' } },
    }));
  } catch {
    // expected: an unknown flag, or one without its value
    return null;
  }
  const { since = SINCE, csv = false } = values;
  const by = values.by === undefined ? 'all' : groups.find((group) => group === values.by);
  return by === undefined || since === '' ? null : { since, csv, by };
}

/** Returns the exit code: 0, or 2 for a time that is none. */
export async function printStatement<Group extends string, Statement>(
  { since, csv, by }: StatementOrder<Group>,
  statement: {
    /** @param sinceMs unix milliseconds */
    read: (sinceMs: number, by: Group) => Promise<Statement>;
    csv: (read: Statement) => string;
    table: (read: Statement) => string[];
  },
  write: (text: string) => void,
  nowMs: number = Date.now(),
): Promise<number> {
  const sinceMs = sinceOf(since, nowMs);
  if (sinceMs === null) {
    write(`--since ${since} is no time: give a UTC day (2026-11-01), days (7d) or hours (36h)\n`);
    return 2;
  }
  const read = await statement.read(sinceMs, by);
  write(csv ? statement.csv(read) : `${statement.table(read).join('\n')}\n`);
  return 0;
}
