/** The command line of the keeper. Secrets and settings come from the environment, never from here. */
import { type StatementOrder, statementOrderOf } from '../../runtime/cli/statement.ts';

export type Command =
  | { tag: 'run'; dryRun: boolean }
  | { tag: 'once'; dryRun: boolean }
  | { tag: 'why'; id: string }
  | ({ tag: 'statement' } & StatementOrder<(typeof GROUPS)[number] | 'all'>)
  | { tag: 'doctor' }
  | { tag: 'backtest'; file: string; anvil: string; asRecorded: boolean }
  | { tag: 'usage'; text: string };

const USAGE = [
  'usage: keeper [run | once] [--dry-run]',
  '       keeper dry-run',
  '       keeper why <job id: 0x and 64 hex characters, or the number of a cover step or payout>',
  '       keeper statement [--since <2026-11-01 | 7d | 36h>] [--by day | type | wallet] [--csv]',
  '       keeper doctor',
  '       keeper backtest <recording> --anvil <http://…> [--as-recorded]',
].join('\n');

const GROUPS = ['day', 'type', 'wallet'] as const;

export function parseArguments(line: readonly string[]): Command {
  const [name = 'run', ...rest] = line[0]?.startsWith('--') === true ? ['run', ...line] : line;
  switch (name) {
    case 'run':
    case 'once': {
      const dryRun = rest.length === 1 && rest[0] === '--dry-run';
      return dryRun || rest.length === 0 ? { tag: name, dryRun } : usage();
    }
    case 'dry-run':
      return rest.length === 0 ? { tag: 'once', dryRun: true } : usage();
    case 'doctor':
      return rest.length === 0 ? { tag: 'doctor' } : usage();
    case 'why': {
      const [id = ''] = rest;
      const isId = rest.length === 1 && /^(0x[0-9a-fA-F]{64}|\d{1,78})$/.test(id);
      return isId ? { tag: 'why', id: id.toLowerCase() } : usage();
    }
    case 'backtest':
      return backtestOf(rest);
    case 'statement':
      return statementOf(rest);
    default:
      return usage();
  }
}

const usage = (): Command => ({ tag: 'usage', text: USAGE });

function backtestOf(words: readonly string[]): Command {
  const rest = words.filter((word) => word !== '--as-recorded');
  const at = rest.indexOf('--anvil');
  const anvil = at < 0 ? undefined : rest.splice(at, 2)[1];
  const [file, ...more] = rest;
  const isUrl = anvil !== undefined && /^https?:\/\//.test(anvil) && URL.canParse(anvil);
  if (!isUrl || file === undefined || file.startsWith('--') || more.length > 0) return usage();
  return { tag: 'backtest', file, anvil, asRecorded: words.includes('--as-recorded') };
}

function statementOf(words: readonly string[]): Command {
  const order = statementOrderOf(words, GROUPS);
  return order === null ? usage() : { tag: 'statement', ...order };
}
