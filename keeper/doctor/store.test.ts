import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore } from '../../runtime/store/store.ts';
import { type StoreTables, storeMigrations } from '../journal/migrations.ts';
import { checkStore } from './store.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'basket-doctor-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a new file can be written, and a file that a keeper holds is told as such', async () => {
  const url = `file:${join(folder, 'keeper.sqlite')}`;
  expect(await checkStore(url)).toMatchObject([
    { level: 'ok', says: 'sqlite, 0 attempts in the journal; nobody has it open for sending' },
  ]);
  const held = await openStore<StoreTables>({ url, migrations: storeMigrations, exclusive: 'x' });
  try {
    expect(await checkStore(url)).toMatchObject([
      { level: 'ok', says: 'sqlite, 0 attempts in the journal; a keeper has it and runs' },
    ]);
  } finally {
    await held.close();
  }
});

test('what cannot be opened is a failure with what to do', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, 'no database');
  for (const url of [
    `file:${join(file, 'keeper.sqlite')}`,
    `file:${file}`,
    'postgres://user:secret@127.0.0.1:1/none',
  ]) {
    const [finding] = await checkStore(url);
    expect(finding?.level).toBe('fail');
    expect(finding?.says).not.toContain('secret');
    expect(finding?.fix).toContain('DATABASE_URL');
  }
});
