// `npm test` (checks, contracts, unit and chain tests) and `npm run test:system` (what needs Debian packages).
// Runs every part even when one failed, and ends with the line `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bin = (name) => join(root, 'node_modules', '.bin', name);
const scratch = mkdtempSync(join(tmpdir(), 'basket-tests-'));
let passed = 0;
let failed = 0;

function heading(text) {
  process.stdout.write(`\n== ${text}\n`);
}

/** A command that is one test by itself. */
function check(name, command, args, options = {}) {
  heading(name);
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (result.status === 0) passed += 1;
  else {
    failed += 1;
    process.stdout.write(`${name}: FAILED\n`);
  }
}

function forge() {
  heading('contracts (forge)');
  const cwd = join(root, 'contracts-abi', 'solidity');
  const result = spawnSync(bin('forge'), ['test', '--json'], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 512 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = result.stdout.split('\n').find((text) => text.startsWith('{'));
  if (line === undefined) {
    failed += 1;
    process.stdout.write(`forge did not report its tests\n${result.stdout.slice(-4_000)}\n`);
    return;
  }
  let count = 0;
  for (const [suite, { test_results: tests }] of Object.entries(JSON.parse(line))) {
    for (const [name, test] of Object.entries(tests)) {
      count += 1;
      if (test.status === 'Success') passed += 1;
      else {
        failed += 1;
        process.stdout.write(`FAILED ${suite} ${name}: ${test.reason ?? 'no reason'}\n`);
      }
    }
  }
  if (count === 0) failed += 1;
  process.stdout.write(`${count} contract tests\n`);
}

function vitest(projects) {
  heading(`tests (${projects.join(', ')})`);
  const report = join(scratch, `${projects.join('-')}.json`);
  const args = ['run', ...projects.flatMap((project) => ['--project', project])];
  args.push('--reporter=default', '--reporter=json', `--outputFile.json=${report}`);
  const result = spawnSync(bin('vitest'), args, { cwd: root, stdio: 'inherit' });
  try {
    const json = JSON.parse(readFileSync(report, 'utf8'));
    passed += json.numPassedTests;
    // A skipped test is a failed one: nothing here may be skipped.
    const bad = json.numTotalTests - json.numPassedTests;
    failed += bad > 0 || result.status === 0 ? bad : 1;
  } catch (error) {
    failed += 1;
    process.stdout.write(`vitest left no report: ${error.message}\n`);
  }
}

if (process.argv.includes('--system')) {
  vitest(['system']);
} else {
  check('format', bin('biome'), ['format', '.']);
  check('lint', bin('oxlint'), ['--type-aware', '--deny-warnings', '.']);
  check('types', bin('tsc'), ['--noEmit']);
  check('unused code', bin('knip'), []);
  forge();
  vitest(['unit', 'chain']);
}

rmSync(scratch, { recursive: true, force: true });
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
