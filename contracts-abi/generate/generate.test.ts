import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copyProject, solidity } from '../proof/copy.ts';
import { renderGenerated } from './generate.ts';

describe('generated ABIs and bytecode', () => {
  it('are what a fresh build of the Solidity gives', { timeout: 300_000 }, () => {
    const files = renderGenerated();
    expect(files.length).toBeGreaterThan(10);
    for (const { path, text } of files) {
      expect(readFileSync(path, 'utf8') === text, `${path}: run npm run build:abi`).toBe(true);
    }
    const folder = new URL('../generated/', import.meta.url);
    expect(readdirSync(folder).toSorted()).toEqual(
      files.map(({ path }) => path.slice(path.lastIndexOf('/') + 1)).toSorted(),
    );
  });

  it('are none where a source does not compile', { timeout: 300_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'generate-'));
    try {
      const project = copyProject(folder);
      appendFileSync(join(project, 'src', 'Constants.sol'), 'contract {');
      // What an earlier build left is not taken for this one.
      cpSync(join(solidity, 'out'), join(project, 'out'), { recursive: true });
      expect(() => renderGenerated(project)).toThrow(/forge build/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
