import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeFolder } from './make-folder.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'folder-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('makes those that are missing, for the owner alone, and takes those that are there', () => {
  const path = join(folder, 'one', 'two');
  makeFolder(path);
  makeFolder(path);
  expect(statSync(join(folder, 'one')).mode & 0o777).toBe(0o700);
  expect(statSync(path).isDirectory()).toBe(true);
});

test('says so where none can be made', () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  expect(() => makeFolder(join(file, 'below'))).toThrow('ENOTDIR');
  // The system says there that the folder above does not exist.
  expect(() => makeFolder('/proc/self/one/two')).toThrow('ENOENT');
});
