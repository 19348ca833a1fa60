import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { StoreError } from '../../runtime/store/errors.ts';
import { runQuarantine } from './quarantine.ts';

test('a release on a store that nobody has made is refused, and makes none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quarantine-'));
  const path = join(folder, 'misspelt.sqlite');
  try {
    const env = { DATABASE_URL: `file:${path}` };
    const release = runQuarantine(
      '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
      env,
      () => undefined,
    );
    await expect(release).rejects.toThrow(StoreError);
    await expect(release).rejects.toThrow(/misspelt\.sqlite is no relayer's store/);
    expect(existsSync(path)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
