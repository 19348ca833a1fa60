// `npm run mutation [-- Contract …]`: breaks the contracts in every small way, one at a time, and prints what no test
// noticed. Verdicts are kept in .cache/mutation, so a run that was stopped goes on where it was, and a change costs
// only what it touches. Ends with an error when a survivor has no written reason in equivalent.json.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { folder, mutateProject, sourcesOf, type Mutated } from './project.ts';
import { closureOf, runTests, selectTests } from './run.ts';
import { testsOf } from './tests-of.ts';

/** Valid while the source is the same and so are the tests that decided: the one that failed, or all that passed. */
type Verdict = {
  file: string;
  name: string;
  verdict: 'killed' | 'survived';
  source: string;
  tests: string;
  killer: string; // '' when all tests decided
  seconds: number;
};
type Reason = { file: string; mutant: string; reason: string };

const verdictsFile = join(folder, 'verdicts.jsonl');
const print = (line: string) => process.stdout.write(`${line}\n`);
const hash = (...parts: string[]) =>
  createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 24);

function readVerdicts(): Verdict[] {
  if (!existsSync(verdictsFile)) return [];
  const lines = readFileSync(verdictsFile, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Verdict);
}

function readReasons(): Reason[] {
  const path = fileURLToPath(new URL('equivalent.json', import.meta.url));
  return JSON.parse(readFileSync(path, 'utf8')) as Reason[];
}

/** The verdicts of one file's mutants, running those that are not known yet. */
function judge(file: string, { project, mutants, sources }: Mutated, known: Verdict[]): Verdict[] {
  const paths = testsOf(file, sourcesOf(project, 'test'));
  if (paths.length === 0) throw new Error(`no tests are named for ${file} in tests-of.ts`);
  const stateOf = (tests: readonly string[]) =>
    hash(...closureOf(project, tests).map((path) => readFileSync(join(project, path), 'utf8')));
  const source = hash(sources.get(file) ?? '');
  const all = stateOf(paths);
  const states = new Map(paths.map((path) => [basename(path), stateOf([path])]));
  const earlier = new Map(
    known
      .filter((verdict) => verdict.file === file && verdict.source === source)
      .filter(({ tests, killer }) => tests === (killer === '' ? all : states.get(killer)))
      .map((verdict) => [verdict.name, verdict]),
  );
  const own = mutants.filter((mutant) => mutant.file === file);
  if (own.every(({ name }) => earlier.has(name))) {
    return own.map(({ name }) => earlier.get(name) as Verdict);
  }
  const selected = selectTests(project, paths);
  const sound = runTests(project, selected, 0);
  if (sound.status !== 'passed') {
    const what = JSON.stringify(sound).slice(0, 6_000);
    throw new Error(`${file}: its tests do not pass unbroken: ${what}`);
  }
  return own.map(({ id, name }) => {
    const before = earlier.get(name);
    if (before !== undefined) return before;
    const start = Date.now();
    const run = runTests(project, selected, id);
    if (run.status === 'broken') throw new Error(`${name}: ${run.output.slice(-4_000)}`);
    const killer = run.status === 'failed' && states.has(run.killer) ? run.killer : '';
    const verdict: Verdict = {
      file,
      name,
      verdict: run.status === 'passed' ? 'survived' : 'killed',
      source,
      tests: states.get(killer) ?? all,
      killer,
      seconds: Math.round((Date.now() - start) / 100) / 10,
    };
    appendFileSync(verdictsFile, `${JSON.stringify(verdict)}\n`);
    if (run.status === 'passed') print(`  survived: ${name}`);
    return verdict;
  });
}

function main(): void {
  const wanted = process.argv.slice(2);
  mkdirSync(folder, { recursive: true });
  const mutated = mutateProject();
  const known = readVerdicts();
  const reasons = readReasons();
  const files = [...new Set(mutated.mutants.map(({ file }) => file))].filter(
    (file) => wanted.length === 0 || wanted.includes(basename(file, '.sol')),
  );
  const survivors: Verdict[] = [];
  const unused = new Set(reasons.filter(({ file }) => files.includes(file)));
  let failures = 0;
  let killed = 0;
  let explained = 0;
  for (const file of files) {
    let verdicts: Verdict[];
    try {
      verdicts = judge(file, mutated, known);
    } catch (error) {
      failures += 1;
      print(`FAILED ${error instanceof Error ? error.message : String(error)}`);
      continue;
    }
    const survived = verdicts.filter(({ verdict }) => verdict === 'survived');
    killed += verdicts.length - survived.length;
    for (const verdict of survived) {
      const reason = reasons.find(
        ({ file, mutant }) => file === verdict.file && mutant === verdict.name,
      );
      if (reason === undefined) survivors.push(verdict);
      else {
        explained += 1;
        unused.delete(reason);
      }
    }
    print(`${file}: ${verdicts.length} mutants, ${survived.length} survived`);
  }
  for (const { file, mutant } of unused) print(`reason without a survivor: ${file} ${mutant}`);
  for (const { file, name } of survivors) print(`SURVIVED ${file} ${name}`);
  print(`${killed} killed, ${explained} equivalent with a reason, ${survivors.length} survivors`);
  process.exitCode = survivors.length + failures === 0 ? 0 : 1;
}

main();
