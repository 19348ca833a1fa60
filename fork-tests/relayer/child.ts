/** A relayer as an operator runs it: a process of its own, which a test may kill. */
import { join } from 'node:path';
import { type Child, startChild } from '../start/children.ts';

export type RelayerChild = { child: Child; url: string };

const ENTRY = join(import.meta.dirname, '..', '..', 'relayer', 'main.ts');

/**
 * Resolves when it listens; throws with its log when it ends before.
 * @param entry absent: the program as it is
 */
export async function startRelayerChild(
  cwd: string,
  env: Record<string, string>,
  entry = ENTRY,
): Promise<RelayerChild> {
  let listening: (url: string) => void = () => undefined;
  const url = new Promise<string>((resolve) => {
    listening = resolve;
  });
  const log: string[] = [];
  const child = startChild({
    name: 'relayer',
    entry,
    cwd,
    env: { PATH: process.env.PATH, ...env, LOG_LEVEL: 'info' },
    onLine: (line) => {
      log.push(line);
      const found = /"url":"(http:[^"]+)".*"listening"/.exec(line);
      if (found?.[1] !== undefined) listening(found[1]);
    },
  });
  const ended = child.exited.then((code) => {
    throw new Error(`ended with ${code} while starting:\n${log.join('\n')}`);
  });
  return { child, url: await Promise.race([url, ended]) };
}
