// The copy of the Solidity project that holds every mutant at once.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import solc from 'solc';
import { copyProject, root } from '../copy.ts';
import {
  mutate,
  SWITCH,
  SWITCH_FILE,
  withGuards,
  type Mutant,
  type MutatedFile,
  type Node,
} from './mutants.ts';

export const folder = join(root, '.cache', 'mutation');

/** Not ours to break: declarations, and contracts of test chains. */
const LEFT_ALONE = /^src\/(interfaces|testing)\/|^src\/Constants\.sol$/;

export type Mutated = { project: string; mutants: Mutant[]; sources: Map<string, string> };

/** The sources below `part`, relative to the project. */
export function sourcesOf(project: string, part: string): string[] {
  return readdirSync(join(project, part), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sol'))
    .map((file) => `${part}/${file}`)
    .toSorted();
}

function parse(project: string, files: string[]): Map<string, Node> {
  const sources = Object.fromEntries(
    files.map((file) => [file, { content: readFileSync(join(project, file), 'utf8') }]),
  );
  const input = {
    language: 'Solidity',
    sources,
    settings: {
      remappings: ['@openzeppelin/=node_modules/@openzeppelin/'],
      outputSelection: { '*': { '': ['ast'] } },
    },
  };
  const find = (path: string) => {
    const file = join(project, path);
    return existsSync(file) ? { contents: readFileSync(file, 'utf8') } : { error: 'not found' };
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: find })) as {
    errors?: { severity: string; formattedMessage: string }[];
    sources: Record<string, { ast: Node }>;
  };
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'));
  return new Map(files.map((file) => [file, output.sources[file]?.ast as Node]));
}

/** A guard of the library can be left out only where its two halves can be called. */
function openGuards(project: string): void {
  for (const name of ['ReentrancyGuard', 'ReentrancyGuardTransient']) {
    const file = join(project, 'node_modules/@openzeppelin/contracts/utils', `${name}.sol`);
    const text = readFileSync(file, 'utf8');
    writeFileSync(
      file,
      text.replaceAll(/(function _nonReentrant(?:Before|After)\(\)) private/g, '$1 internal'),
    );
  }
}

/** Copies the project and puts every mutant behind its switch. */
export function mutateProject(): Mutated {
  const project = copyProject(folder);
  openGuards(project);
  const files = sourcesOf(project, 'src').filter((file) => !LEFT_ALONE.test(file));
  const sources = new Map(files.map((file) => [file, readFileSync(join(project, file), 'utf8')]));
  const asts = parse(project, files);
  const mutants: Mutant[] = [];
  const mutated: MutatedFile[] = [];
  for (const file of files) {
    const source = Buffer.from(sources.get(file) ?? '');
    const result = mutate(file, source, asts.get(file) as Node, mutants.length + 1);
    mutants.push(...result.mutants);
    mutated.push(result);
  }
  const guards = new Map(mutated.flatMap((file) => [...file.guards]));
  for (const { file, text, mutants: some } of mutated) {
    if (some.length === 0) continue;
    writeFileSync(join(project, file), Buffer.from(withGuards(text, guards), 'latin1'));
  }
  writeFileSync(join(project, SWITCH_FILE), SWITCH);
  return { project, mutants, sources };
}
