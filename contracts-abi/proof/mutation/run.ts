// Runs chosen tests of the copy against one mutant.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { forgeBinary } from '../copy.ts';

const TIMEOUT_MS = 600_000;

/** `files` and what they import, from their own folders alone or from anywhere in the project's tests. */
export function closureOf(
  project: string,
  files: readonly string[],
  { ownFolders = false }: { ownFolders?: boolean } = {},
): string[] {
  const found = new Set(files);
  for (const file of found) {
    const text = readFileSync(join(project, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/^import .*"(\.[\w./]*)";/gm)) {
      const path = join(dirname(file), name);
      const wanted = ownFolders ? name.startsWith('./') : path.startsWith('test/');
      if (wanted) found.add(path);
    }
  }
  return [...found].toSorted();
}

/**
 * A folder that holds just these tests: forge compiles for nothing whenever it is given a filter, so none is used.
 * Tests of several folders may lie side by side, since their files have distinct names.
 */
export function selectTests(project: string, tests: readonly string[]): string {
  const files = closureOf(project, tests, { ownFolders: true });
  const name = `only-${createHash('sha256').update(files.join()).digest('hex').slice(0, 12)}`;
  mkdirSync(join(project, 'test', name), { recursive: true });
  for (const file of files) {
    const to = join(project, 'test', name, basename(file));
    const same = existsSync(to) && readFileSync(to).equals(readFileSync(join(project, file)));
    if (!same) copyFileSync(join(project, file), to);
  }
  return `test/${name}`;
}

export type Run =
  | { status: 'passed' }
  | { status: 'failed'; killer: string } // the test file's name
  | { status: 'timeout' }
  | { status: 'broken'; output: string };

/** Runs the tests of a folder with the mutant `id` on; zero is the contract as it stands. */
export function runTests(project: string, tests: string, id: number): Run {
  const { status, stdout, stderr, error } = spawnSync(
    'nice',
    [forgeBinary(), 'test', '--fail-fast'],
    {
      cwd: project,
      encoding: 'utf8',
      timeout: TIMEOUT_MS,
      maxBuffer: 256 * 1024 * 1024,
      env: {
        ...process.env,
        FOUNDRY_TEST: tests,
        FOUNDRY_OPTIMIZER: 'false',
        FOUNDRY_CODE_SIZE_LIMIT: '10000000',
        FOUNDRY_THREADS: '1',
        FOUNDRY_FUZZ_RUNS: '24',
        FOUNDRY_FUZZ_FAILURE_PERSIST_DIR: 'cache/none',
        FOUNDRY_INVARIANT_RUNS: '2',
        FOUNDRY_INVARIANT_SHRINK_RUN_LIMIT: '0',
        FOUNDRY_INVARIANT_FAILURE_PERSIST_DIR: 'cache/none',
        FOUNDRY_BLOCK_COINBASE: `0x${id.toString(16).padStart(40, '0')}`,
      },
    },
  );
  if (error !== undefined && 'code' in error && error.code === 'ETIMEDOUT') {
    return { status: 'timeout' };
  }
  if (status === 0 && /[1-9]\d* tests? passed/.test(stdout)) return { status: 'passed' };
  const before = stdout?.split('\n[FAIL')[0] ?? '';
  if (before.length < (stdout?.length ?? 0)) {
    const suites = [...before.matchAll(/^Ran \d+ tests? for test\/[\w-]+\/([\w.]+):/gm)];
    return { status: 'failed', killer: suites.at(-1)?.[1] ?? '' };
  }
  return { status: 'broken', output: `${stdout}${stderr}` };
}
