// Adds up what the handlers of the invariant suites did. A campaign whose actions are mostly refused proves nothing,
// so an action that the protocol carries out in less than a fifth of its tries counts as a failure, and so does one that
// was never tried: what a suite must try is the functions that its campaign calls, and the actions that it is known by.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ACTIONS } from './actions.ts';

const LEAST_SHARE = 1 / 5;

export type Action = { name: string; tried: number; done: number };
export type Suite = { name: string; runs: number; actions: Action[]; faults: string[] };

/** Empties the folder that the handlers write to; creates it on a fresh clone. */
export function emptyFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

/** One run of a campaign, as `HandlerStats.report` writes it; `targets` by selector, padded to a word. */
type Run = { actions: Record<string, [number, number]>; targets: Record<string, number> };

/**
 * `text` holds one `Run` a run: {"suite": …, "actions": {name: [tried, done]}, "targets": {selector: tried}}. Campaigns
 * append to a file at the same time, so two objects may share a line. `expected` are the suite's actions; one that is
 * missing was never tried, and one that is not among them could be missing without anybody noticing.
 */
export function addUp(name: string, text: string, expected: readonly string[] = []): Suite {
  const totals = new Map(expected.map((action) => [action, { tried: 0, done: 0 }]));
  const targets = new Map<string, number>();
  const lines = text
    .replaceAll('}}', '}}\n')
    .split('\n')
    .filter((line) => line.trim() !== '');
  for (const line of lines) {
    const run = JSON.parse(line) as Run;
    for (const [selector, tried] of Object.entries(run.targets)) {
      targets.set(selector, (targets.get(selector) ?? 0) + tried);
    }
    for (const [action, [tried, done]] of Object.entries(run.actions)) {
      const total = totals.get(action) ?? { tried: 0, done: 0 };
      totals.set(action, { tried: total.tried + tried, done: total.done + done });
    }
  }
  const actions = [...totals].map(([action, total]) => ({ name: action, ...total }));
  actions.sort((a, b) => a.name.localeCompare(b.name));
  const faults = actions
    .filter(({ tried, done }) => tried === 0 || done < tried * LEAST_SHARE)
    .map(({ name: action, tried, done }) => `${name}.${action}: done in ${done} of ${tried} tries`);
  for (const { name: action } of actions) {
    if (!expected.includes(action)) faults.push(`${name}.${action}: not listed in actions.ts`);
  }
  for (const [selector, tried] of targets) {
    if (tried === 0) faults.push(`${name}: the function ${selector.slice(0, 10)} tried nothing`);
  }
  if (targets.size === 0) faults.push(`${name}: nothing was reported`);
  return { name, runs: lines.length, actions, faults };
}

/** Every suite that left a file, and those of `expected` (actions by suite) that did not. */
export function readSuites(
  folder: string,
  expected: Record<string, readonly string[]> = ACTIONS,
): Suite[] {
  const found = existsSync(folder)
    ? readdirSync(folder)
        .filter((file) => file.endsWith('.jsonl'))
        .map((file) => file.slice(0, -'.jsonl'.length))
    : [];
  const names = [...new Set([...Object.keys(expected), ...found])];
  return names.map((name) => {
    const file = join(folder, `${name}.jsonl`);
    return addUp(name, existsSync(file) ? readFileSync(file, 'utf8') : '', expected[name]);
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
