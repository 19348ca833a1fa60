import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
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
});
