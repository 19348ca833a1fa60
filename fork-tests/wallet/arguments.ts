/** What stands on the command line, read; what is wrong there is said in one line. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { Role } from '../chain/seed/accounts.ts';
import { isRole } from './open.ts';

export const USAGE = `usage (a plan or trade comes on standard input):
  wallet send <account>
  wallet grant <owner> <key account> [dollars a day] [--cover <dollars a day>]
  wallet relay <key account>
  wallet offer <account> <ticker> --from <bps> --to <bps> --cover <dollars> --price <dollars per $1,000>
               [--week <id>] [--repeats]
  wallet fill <account> <listing id> <dollars>
  wallet cancel-listing | roll | send-back <account> <listing id>
  wallet push <ticker> <percent>
  wallet warp <seconds>
  wallet weekend [<ticker> <percent>]
accounts: alice bob carol dave erin frank agent keeper relayer …`;

/** A wrong command line: said without a stack. */
export class UsageError extends Error {
  constructor(what: string) {
    super(`${what}\n${USAGE}`);
  }
}

export function role(text: string | undefined): Role {
  if (text === undefined || !isRole(text))
    throw new UsageError(`unknown account ${text ?? '(none)'}`);
  return text;
}

export function number(text: string | undefined, what: string): number {
  const value = Number(text);
  if (text === undefined || text === '' || !Number.isFinite(value)) {
    throw new UsageError(`${what} must be a number`);
  }
  return value;
}

/** A whole number, of at most the digits that 2^256 has. */
export function whole(text: string | undefined, what: string): bigint {
  if (text === undefined || !/^\d{1,77}$/.test(text)) {
    throw new UsageError(`${what} must be a whole number`);
  }
  return BigInt(text);
}

/** Words and options in any order. Not for commands that take negative numbers: those look like options. */
export function withOptions<O extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: O,
) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0] ?? '');
  }
}
