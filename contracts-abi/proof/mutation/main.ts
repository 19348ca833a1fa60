// `npm run mutation [-- Contract …]`: breaks the contracts in every small way, one at a time, and prints what no test
// noticed. Verdicts are kept in .cache/mutation, so a run that was stopped goes on where it was, and a change costs
// only what it touches. Ends with an error when a survivor has no written reason in equivalent.json.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { folder, mutateProject, sourcesOf, type Mutated } from './project.ts';
import { runTests, selectTests, withNeighbours } from './run.ts';
import { testsOf } from './tests-of.ts';

type Verdict = { key: string; file: string; name: string; verdict: string; seconds: number };
type Reason = { file: string; mutant: string; reason: string };

const verdictsFile = join(folder, 'verdicts.jsonl');
const print = (line: string) => process.stdout.write(`${line}\n`);
const hash = (...parts: string[]) =>
  createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 24);

function readVerdicts(): Map<string, Verdict> {
  if (!existsSync(verdictsFile)) return new Map();
  const lines = readFileSync(verdictsFile, 'utf8').trim().split('\n').filter(Boolean);
  return new Map(
    lines.map((line) => JSON.parse(line) as Verdict).map((verdict) => [verdict.key, verdict]),
  );
}

function readReasons(): Reason[] {
  const path = fileURLToPath(new URL('equivalent.json', import.meta.url));
  return JSON.parse(readFileSync(path, 'utf8')) as Reason[];
}

/** The verdicts of one file's mutants, running those that are not known yet. */
function judge(file: string, { project, mutants, sources }: Mutated, known: Map<string, Verdict>) {
  const tests = testsOf(file, sourcesOf(project, 'test'));
  if (tests.length === 0) throw new Error(`no tests are named for ${file} in tests-of.ts`);
  const texts = [...withNeighbours(project, tests), ...sourcesOf(project, 'test/support')].map(
    (path) => readFileSync(join(project, path), 'utf8'),
  );
  const state = hash(sources.get(file) ?? '', ...texts);
  const own = mutants.filter((mutant) => mutant.file === file);
  const open = own.filter(({ name }) => !known.has(hash(state, name)));
  if (open.length > 0) {
    const selected = selectTests(project, tests);
    const sound = runTests(project, selected, 0);
    if (sound.status !== 'passed') {
      throw new Error(
        `${file}: its tests do not pass unbroken: ${JSON.stringify(sound).slice(0, 6_000)}`,
      );
    }
    for (const { id, name } of open) {
      const start = Date.now();
      const run = runTests(project, selected, id);
      if (run.status === 'broken') throw new Error(`${name}: ${run.output.slice(-4_000)}`);
      const seconds = Math.round((Date.now() - start) / 100) / 10;
      const outcome = { passed: 'survived', failed: 'killed', timeout: 'killed' } as const;
      const key = hash(state, name);
      const verdict = { key, file, name, verdict: outcome[run.status], seconds };
      known.set(key, verdict);
      appendFileSync(verdictsFile, `${JSON.stringify(verdict)}\n`);
      if (run.status === 'passed') print(`  survived: ${name}`);
    }
  }
  return own.map(({ name }) => known.get(hash(state, name)) as Verdict);
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
  const failures: string[] = [];
  let killed = 0;
  let explained = 0;
  for (const file of files) {
    let verdicts: Verdict[];
    try {
      verdicts = judge(file, mutated, known);
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
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
  for (const failure of failures) print(`FAILED ${failure}`);
  process.exitCode = survivors.length + failures.length === 0 ? 0 : 1;
}

main();
