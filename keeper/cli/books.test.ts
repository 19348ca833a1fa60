/** What the commands that only read leave behind: nothing. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runStatement } from './statement.ts';
import { runWhy } from './why.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'basket-books-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('neither why nor a statement makes a store where there is none', async () => {
  const env = { DATABASE_URL: `file:${join(folder, 'keeper.sqlite')}` };
  const said: string[] = [];
  const say = (text: string): void => void said.push(text);
  expect(await runWhy('12', env, say)).toBe(1);
  expect(await runStatement({ since: '7d', csv: false, by: 'all' }, env, say)).toBe(0);
  expect(said.join('')).toMatch(/knows no job.*nothing was executed/s);
  expect(readdirSync(folder)).toEqual([]);
});
