/** The command line of the keeper. Secrets and settings come from the environment, never from here. */
import type { Hex } from 'viem';

export type Command =
  | { tag: 'run'; dryRun: boolean }
  | { tag: 'once'; dryRun: boolean }
  | { tag: 'why'; id: Hex }
  | { tag: 'usage'; text: string };

const USAGE =
  'usage: keeper [run | once] [--dry-run]\n       keeper why <order id: 0x and 64 hex characters>';

export function parseArguments(line: readonly string[]): Command {
  const flags = line.filter((word) => word.startsWith('--'));
  const words = line.filter((word) => !word.startsWith('--'));
  if (flags.some((flag) => flag !== '--dry-run')) return { tag: 'usage', text: USAGE };
  const dryRun = flags.length > 0;
  const [name = 'run', id, ...rest] = words;
  if (rest.length > 0) return { tag: 'usage', text: USAGE };
  if (name === 'why' && !dryRun && id !== undefined && /^0x[0-9a-fA-F]{64}$/.test(id)) {
    return { tag: 'why', id: id.toLowerCase() as Hex };
  }
  if ((name === 'run' || name === 'once') && id === undefined) return { tag: name, dryRun };
  if (name === 'dry-run' && id === undefined) return { tag: 'once', dryRun: true };
  return { tag: 'usage', text: USAGE };
}
