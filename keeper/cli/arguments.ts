/** The command line of the keeper. Secrets and settings come from the environment, never from here. */
export type Command =
  | { tag: 'run'; dryRun: boolean }
  | { tag: 'once'; dryRun: boolean }
  | { tag: 'why'; id: string }
  | { tag: 'usage'; text: string };

const USAGE =
  'usage: keeper [run | once] [--dry-run]\n       keeper why <job id: 0x and 64 hex characters, or the number of a cover step or payout>';

export function parseArguments(line: readonly string[]): Command {
  const flags = line.filter((word) => word.startsWith('--'));
  const words = line.filter((word) => !word.startsWith('--'));
  if (flags.some((flag) => flag !== '--dry-run')) return { tag: 'usage', text: USAGE };
  const dryRun = flags.length > 0;
  const [name = 'run', id, ...rest] = words;
  if (rest.length > 0) return { tag: 'usage', text: USAGE };
  if (name === 'why' && !dryRun && id !== undefined && /^(0x[0-9a-fA-F]{64}|\d{1,78})$/.test(id)) {
    return { tag: 'why', id: id.toLowerCase() };
  }
  if ((name === 'run' || name === 'once') && id === undefined) return { tag: name, dryRun };
  if (name === 'dry-run' && id === undefined) return { tag: 'once', dryRun: true };
  return { tag: 'usage', text: USAGE };
}
