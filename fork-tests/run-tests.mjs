// `npm test` (checks, contracts, unit and chain tests) and `npm run test:system` (what needs
// Debian packages or takes longer).
// Runs every part even when one failed, and ends with the line `N passed, N failed`.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tsImport } from 'tsx/esm/api';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bin = (name) => join(root, 'node_modules', '.bin', name);
const scratch = mkdtempSync(join(tmpdir(), 'basket-tests-'));
let passed = 0;
let failed = 0;

function heading(text) {
  process.stdout.write(`\n== ${text}\n`);
}

/** Runs a command to its end; its output is printed in one piece, so that two at once stay readable. */
function run(command, args, cwd = root, env = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.once('error', (error) => resolve({ status: 1, stdout, stderr: String(error) }));
    child.once('close', (status) => resolve({ status, stdout, stderr }));
  });
}

/** A command that is one test by itself. */
async function check(name, command, args) {
  const { status, stdout, stderr } = await run(command, args);
  heading(name);
  process.stdout.write(stdout + stderr);
  if (status === 0) passed += 1;
  else {
    failed += 1;
    process.stdout.write(`${name}: FAILED\n`);
  }
}

async function checks() {
  await check('format', bin('biome'), ['format', '.']);
  await check('lint', bin('oxlint'), ['--type-aware', '--deny-warnings', '.']);
  await check('types', bin('tsc'), ['--noEmit']);
  await check('types of the approval page', bin('tsc'), ['-p', 'api/approval/page']);
  await check('unused code', bin('knip'), []);
}

/** Compiling the tests optimised takes five minutes; gas suites and chain tests run on the optimised code. */
const UNOPTIMISED = {
  FOUNDRY_OPTIMIZER: 'false',
  FOUNDRY_OUT: 'out/unoptimised',
  FOUNDRY_CACHE_PATH: 'cache/unoptimised',
};

/** On the optimised build, which the tests of the generated ABIs then find ready. */
function gas() {
  return check('gas of the contracts', bin('tsx'), ['contracts-abi/gas/main.ts', '--check']);
}

async function forge() {
  const cwd = join(root, 'contracts-abi', 'solidity');
  const handlers = await tsImport('../contracts-abi/proof/handlers.ts', import.meta.url);
  const reports = join(cwd, 'cache', 'handlers');
  handlers.emptyFolder(reports);
  const { stdout, stderr } = await run(
    bin('forge'),
    ['test', '--json', '--no-match-path', 'test/gas/*'],
    cwd,
    UNOPTIMISED,
  );
  heading('contracts (forge)');
  // A failing campaign writes lines of its own before the report.
  const line = stdout.split('\n').findLast((text) => /^\{.*"test_results"/.test(text));
  if (line === undefined) {
    failed += 1;
    process.stdout.write(`forge did not report its tests\n${(stdout + stderr).slice(-4_000)}\n`);
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

  heading('handlers of the invariant suites');
  const suites = handlers.readSuites(reports);
  process.stdout.write(handlers.printable(suites));
  for (const { faults } of suites) {
    if (faults.length === 0) passed += 1;
    else failed += 1;
    for (const fault of faults) process.stdout.write(`FAILED ${fault}\n`);
  }
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
  vitest(['sender-kills', 'live-fork', 'system']);
} else {
  // The Solidity compiler keeps one core busy for minutes: the other takes the rest.
  await Promise.all([checks().then(gas), forge()]);
  vitest(['unit', 'chain']);
}

rmSync(scratch, { recursive: true, force: true });
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
