import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ACTIONS } from './actions.ts';
import { addUp, emptyFolder, printable, readSuites } from './handlers.ts';

const MINT = `0x40c10f19${'0'.repeat(56)}`;
const REDEEM = `0xdb006a75${'0'.repeat(56)}`;

const run = (
  actions: Record<string, [number, number]>,
  targets: Record<string, number> = { [MINT]: 1 },
) => JSON.stringify({ suite: 'vault', actions, targets });

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
      ['mint', 'redeem'],
    );
    expect(suite.runs).toBe(3);
    expect(suite.actions).toEqual([
      { name: 'mint', tried: 10, done: 4 },
      { name: 'redeem', tried: 1, done: 1 },
    ]);
    expect(suite.faults).toEqual([]);
  });

  it('faults an action that succeeds in less than a fifth of its tries', () => {
    const suite = addUp('vault', run({ mint: [100, 20], redeem: [100, 19] }), ['mint', 'redeem']);
    expect(suite.faults).toEqual(['vault.redeem: done in 19 of 100 tries']);
  });

  it('faults an action that no run ever tried, which therefore none reports', () => {
    const suite = addUp('vault', run({ mint: [4, 3] }), ['claim', 'mint']);
    expect(suite.faults).toEqual(['vault.claim: done in 0 of 0 tries']);
    expect(suite.actions).toEqual([
      { name: 'claim', tried: 0, done: 0 },
      { name: 'mint', tried: 4, done: 3 },
    ]);
  });

  it('faults an action that is not listed, since nobody would notice were it missing', () => {
    const suite = addUp('vault', run({ burn: [1, 1], mint: [4, 3] }), ['mint']);
    expect(suite.faults).toEqual(['vault.burn: not listed in actions.ts']);
  });

  it('faults a function of the campaign that tried nothing in any run', () => {
    const first = run({ mint: [1, 1] }, { [MINT]: 1, [REDEEM]: 0 });
    const second = run({ mint: [2, 2] }, { [MINT]: 2, [REDEEM]: 0 });
    expect(addUp('vault', `${first}\n${second}\n`, ['mint']).faults).toEqual([
      'vault: the function 0xdb006a75 tried nothing',
    ]);
    const third = run({ mint: [1, 1] }, { [MINT]: 0, [REDEEM]: 1 });
    expect(addUp('vault', `${first}\n${third}\n`, ['mint']).faults).toEqual([]);
  });

  it('faults an expected suite that left nothing, and reads suites that nobody expected', () => {
    writeFileSync(join(folder, 'vault.jsonl'), run({ mint: [1, 1] }));
    writeFileSync(join(folder, 'other.jsonl'), run({ poke: [10, 1] }));
    const suites = readSuites(folder, { vault: ['mint'], zapper: ['buy'] });
    expect(suites.map(({ name, faults }) => [name, faults])).toEqual([
      ['vault', []],
      ['zapper', ['zapper.buy: done in 0 of 0 tries', 'zapper: nothing was reported']],
      ['other', ['other.poke: done in 1 of 10 tries', 'other.poke: not listed in actions.ts']],
    ]);
    expect(readSuites(join(folder, 'missing'), { vault: ['mint'] })[0]?.faults).toHaveLength(2);
  });

  it('expects the actions of every suite that an invariant test reports', () => {
    const tests = fileURLToPath(new URL('../solidity/test', import.meta.url));
    const reported = readdirSync(tests, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('Invariants.t.sol'))
      .map((file) => /\.report\(vm, "([^"]+)"/.exec(readFileSync(join(tests, file), 'utf8'))?.[1]);
    expect(new Set(reported)).toEqual(new Set(Object.keys(ACTIONS)));
    for (const actions of Object.values(ACTIONS)) expect(actions.length).toBeGreaterThan(5);
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
