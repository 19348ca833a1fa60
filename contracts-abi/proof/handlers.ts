// Adds up what the handlers of the invariant suites did. A campaign whose actions are mostly refused proves nothing,
// so an action that the protocol carries out in less than a fifth of its tries counts as a failure.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The suites that must have reported, as `HandlerStats.report` names them. */
export const SUITES = [
  'vault',
  'zapper',
  'lying router',
  'orders',
  'accounts',
  'cover',
  'governance',
] as const;

const LEAST_SHARE = 1 / 5;

export type Action = { name: string; tried: number; done: number };
export type Suite = { name: string; runs: number; actions: Action[]; faults: string[] };

/** Empties the folder that the handlers write to; creates it on a fresh clone. */
export function emptyFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

/**
 * `text` holds one object a run: {"suite": …, "actions": {name: [tried, done]}}. Campaigns append to a file at the same
 * time, so two objects may share a line.
 */
export function addUp(name: string, text: string): Suite {
  const totals = new Map<string, { tried: number; done: number }>();
  const lines = text
    .replaceAll('}}', '}}\n')
    .split('\n')
    .filter((line) => line.trim() !== '');
  for (const line of lines) {
    const { actions } = JSON.parse(line) as { actions: Record<string, [number, number]> };
    for (const [action, [tried, done]] of Object.entries(actions)) {
      const total = totals.get(action) ?? { tried: 0, done: 0 };
      totals.set(action, { tried: total.tried + tried, done: total.done + done });
    }
  }
  const actions = [...totals].map(([action, total]) => ({ name: action, ...total }));
  actions.sort((a, b) => a.name.localeCompare(b.name));
  const faults = actions
    .filter(({ tried, done }) => tried === 0 || done < tried * LEAST_SHARE)
    .map(({ name: action, tried, done }) => `${name}.${action}: done in ${done} of ${tried} tries`);
  if (actions.length === 0) faults.push(`${name}: no action was reported`);
  return { name, runs: lines.length, actions, faults };
}

/** Every suite that left a file, and those of `expected` that did not. */
export function readSuites(folder: string, expected: readonly string[] = SUITES): Suite[] {
  const found = existsSync(folder)
    ? readdirSync(folder)
        .filter((file) => file.endsWith('.jsonl'))
        .map((file) => file.slice(0, -'.jsonl'.length))
    : [];
  const names = [...new Set([...expected, ...found])];
  return names.map((name) => {
    const file = join(folder, `${name}.jsonl`);
    return addUp(name, existsSync(file) ? readFileSync(file, 'utf8') : '');
  });
}

/** A table for people. */
export function printable(suites: readonly Suite[]): string {
  const rows = suites.flatMap(({ name, runs, actions }) => [
    `${name}: ${runs} runs`,
    ...actions.map(({ name: action, tried, done }) => {
      const share = tried === 0 ? 'never tried' : `${((100 * done) / tried).toFixed(1)}%`;
      const cells = [String(tried), String(done), String(tried - done), share];
      return `  ${action.padEnd(36)}${cells.map((cell) => cell.padStart(12)).join('')}`;
    }),
  ]);
  const head = `  ${'action'.padEnd(36)}${['tried', 'done', 'refused', 'share'].map((cell) => cell.padStart(12)).join('')}`;
  return [head, ...rows, ''].join('\n');
}
