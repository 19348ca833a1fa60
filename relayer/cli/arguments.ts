/** The command line of the relayer. Secrets and settings come from the environment, never from here. */
import { type Address, getAddress, type Hex } from 'viem';
import { type StatementOrder, statementOrderOf } from '../../runtime/cli/statement.ts';

export type Command =
  | { tag: 'run' }
  | { tag: 'why'; digest: Hex }
  | ({ tag: 'statement' } & StatementOrder<(typeof GROUPS)[number] | 'all'>)
  | { tag: 'quarantine'; release: Address | null }
  | { tag: 'doctor' }
  | { tag: 'sweep' }
  | { tag: 'usage'; text: string };

const USAGE = [
  'usage: relayer [run]',
  '       relayer why <digest: 0x and 64 hex characters>',
  '       relayer statement [--since <2026-11-01 | 7d | 36h>] [--by day | key | account] [--csv]',
  '       relayer quarantine [list | release <key: 0x and 40 hex characters>]',
  '       relayer doctor',
  '       relayer sweep',
].join('\n');

const GROUPS = ['day', 'key', 'account'] as const;
/** Commands that take no further word. */
const PLAIN = ['run', 'doctor', 'sweep'] as const;

export function parseArguments(line: readonly string[]): Command {
  const [name = 'run', ...rest] = line;
  const plain = PLAIN.find((one) => one === name);
  if (plain !== undefined) return rest.length === 0 ? { tag: plain } : usage();
  switch (name) {
    case 'why': {
      const [digest = ''] = rest;
      const isDigest = rest.length === 1 && /^0x[0-9a-fA-F]{64}$/.test(digest);
      return isDigest ? { tag: 'why', digest: digest.toLowerCase() as Hex } : usage();
    }
    case 'quarantine':
      return quarantineOf(rest);
    case 'statement':
      return statementOf(rest);
    default:
      return usage();
  }
}

const usage = (): Command => ({ tag: 'usage', text: USAGE });

function quarantineOf([what = 'list', key, ...more]: readonly string[]): Command {
  if (what === 'list' && key === undefined) return { tag: 'quarantine', release: null };
  const isKey = what === 'release' && key !== undefined && /^0x[0-9a-fA-F]{40}$/.test(key);
  if (!isKey || more.length > 0) return usage();
  return { tag: 'quarantine', release: getAddress(key.toLowerCase()) };
}

function statementOf(words: readonly string[]): Command {
  const order = statementOrderOf(words, GROUPS);
  return order === null ? usage() : { tag: 'statement', ...order };
}
