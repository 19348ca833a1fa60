import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addUp, emptyFolder, printable, readSuites } from './handlers.ts';

const run = (actions: Record<string, [number, number]>) =>
  JSON.stringify({ suite: 'vault', actions });

describe('handler report', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'handlers-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('adds the runs of a suite up, several of them on one line too', () => {
    const suite = addUp(
      'vault',
      `${run({ mint: [4, 3], redeem: [1, 1] })}${run({ mint: [6, 1] })}\n\n${run({ mint: [0, 0] })}\n`,
    );
    expect(suite.runs).toBe(3);
    expect(suite.actions).toEqual([
      { name: 'mint', tried: 10, done: 4 },
      { name: 'redeem', tried: 1, done: 1 },
    ]);
    expect(suite.faults).toEqual([]);
  });

  it('faults an action that succeeds in less than a fifth of its tries, and one that was never tried', () => {
    const suite = addUp('vault', run({ mint: [100, 20], redeem: [100, 19], claim: [0, 0] }));
    expect(suite.faults).toEqual([
      'vault.claim: done in 0 of 0 tries',
      'vault.redeem: done in 19 of 100 tries',
    ]);
  });

  it('faults an expected suite that left nothing, and reads suites that nobody expected', () => {
    writeFileSync(join(folder, 'vault.jsonl'), run({ mint: [1, 1] }));
    writeFileSync(join(folder, 'other.jsonl'), run({ poke: [10, 1] }));
    const suites = readSuites(folder, ['vault', 'zapper']);
    expect(suites.map(({ name, faults }) => [name, faults])).toEqual([
      ['vault', []],
      ['zapper', ['zapper: no action was reported']],
      ['other', ['other.poke: done in 1 of 10 tries']],
    ]);
    expect(readSuites(join(folder, 'missing'), ['vault'])[0]?.faults).toHaveLength(1);
  });

  it('starts from an empty folder, also where there is none yet', () => {
    const handlers = join(folder, 'cache', 'handlers');
    emptyFolder(handlers);
    writeFileSync(join(handlers, 'vault.jsonl'), 'stale');
    emptyFolder(handlers);
    expect(existsSync(handlers)).toBe(true);
    expect(existsSync(join(handlers, 'vault.jsonl'))).toBe(false);
  });

  it('prints what was tried, done and refused', () => {
    const text = printable([addUp('vault', run({ mint: [4, 3], claim: [0, 0] }))]);
    expect(text).toMatch(/vault: 1 runs/);
    expect(text).toMatch(/mint\s+4\s+3\s+1\s+75\.0%/);
    expect(text).toMatch(/claim\s+0\s+0\s+0\s+never tried/);
  });
});
