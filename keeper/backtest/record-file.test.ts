import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRecordFile } from './record-file.ts';

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'record-'));
  path = join(folder, 'made', 'recording.ndjson');
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const open = (maxBytes: number) => createRecordFile({ path, maxBytes, head: () => 'head\n' });
const read = (name = path) => readFileSync(name, 'utf8');

it('never takes more than its bound, begins each file with the head, and starts anew what would say "as before"', async () => {
  const file = open(100);
  for (let at = 0; at < 40; at += 1) {
    await file.append(`same ${at}\n`, () => `whole ${at}\n`);
    const sizes = [path, `${path}.1`].map(
      (name) => statSync(name, { throwIfNoEntry: false })?.size,
    );
    expect((sizes[0] ?? 0) + (sizes[1] ?? 0)).toBeLessThanOrEqual(100);
  }
  for (const name of [path, `${path}.1`]) expect(read(name)).toMatch(/^head\nwhole \d+\nsame/);
  // The two are one piece of the session: the older ends where the newer begins.
  const numbers = (name: string) => [...read(name).matchAll(/ (\d+)\n/g)].map(([, n]) => Number(n));
  expect(numbers(`${path}.1`).at(-1)).toBe((numbers(path)[0] ?? 0) - 1);
  expect(numbers(path).at(-1)).toBe(39);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('goes on where a process before it was killed in the middle of a line', async () => {
  await open(1_000).append('one\n');
  appendFileSync(path, '{"t":"ti');
  await open(1_000).append('two\n');
  expect(read()).toBe('head\none\n{"t":"ti\nhead\ntwo\n');
});

it('leaves out what is larger than a file may be', async () => {
  const file = open(60);
  await file.append(`${'x'.repeat(50)}\n`);
  await file.append('two\n');
  expect(read()).toBe('head\ntwo\n');
});
