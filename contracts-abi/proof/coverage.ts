// `npm run coverage:contracts [-- forge options]`: line and branch coverage of what is deployed to a live chain, by
// the contract tests. Fails below the limits. Unoptimised and instrumented code is slow, so the random suites run
// fewer times than in CI; what they add beyond the other tests is little.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyProject, forgeBinary, root } from './copy.ts';
import { add, branchesOf, linesOf, missing, percent, readLcov, type Share } from './lcov.ts';

const LEAST = { lines: 98, branches: 95 };

/** Contracts of test chains. */
const OUTSIDE = 'src/testing/';

const print = (line: string) => process.stdout.write(`${line}\n`);

function cell(share: Share): string {
  return `${percent(share).toFixed(2)}% (${share.hit}/${share.found})`.padStart(20);
}

function main(): void {
  const folder = join(root, '.cache', 'coverage');
  mkdirSync(folder, { recursive: true });
  const project = copyProject(folder);
  const report = join(project, 'lcov.info');
  const { status } = spawnSync(
    'nice',
    [
      forgeBinary(),
      'coverage',
      '--report',
      'lcov',
      '--report-file',
      report,
      ...process.argv.slice(2),
    ],
    {
      cwd: project,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        FOUNDRY_FUZZ_RUNS: '64',
        FOUNDRY_INVARIANT_RUNS: '4',
        FOUNDRY_INVARIANT_DEPTH: '50',
        FOUNDRY_CODE_SIZE_LIMIT: '10000000',
      },
    },
  );
  const files = [...readLcov(readFileSync(report, 'utf8')).values()].filter(
    ({ file }) => file.startsWith('src/') && !file.startsWith(OUTSIDE),
  );
  let [lines, branches]: Share[] = [
    { found: 0, hit: 0 },
    { found: 0, hit: 0 },
  ] as const;
  print(`\n${'file'.padEnd(44)}${'lines'.padStart(20)}${'branches'.padStart(20)}`);
  for (const file of files.toSorted((a, b) => a.file.localeCompare(b.file))) {
    lines = add(lines, linesOf(file));
    branches = add(branches, branchesOf(file));
    print(`${file.file.padEnd(44)}${cell(linesOf(file))}${cell(branchesOf(file))}`);
  }
  print(`${'all'.padEnd(44)}${cell(lines)}${cell(branches)}\n`);
  for (const file of files) {
    const gaps = missing(file);
    if (gaps.lines.length > 0) print(`${file.file}: lines not run: ${gaps.lines.join(' ')}`);
    if (gaps.branches.length > 0)
      print(`${file.file}: branches not taken: ${gaps.branches.join(' ')}`);
  }
  const low = percent(lines) < LEAST.lines || percent(branches) < LEAST.branches;
  if (low) print(`below ${LEAST.lines}% of the lines or ${LEAST.branches}% of the branches`);
  if (status !== 0) print(`forge ended with ${status}`);
  process.exitCode = low || status !== 0 || files.length === 0 ? 1 : 0;
}

main();
