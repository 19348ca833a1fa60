import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('the client needs nothing of Node, of the relayer or of the store at run time', () => {
  const files = new Set<string>();
  const packages = new Set<string>();
  const follow = (url: URL) => {
    if (files.has(url.href)) return;
    files.add(url.href);
    const imported = readFileSync(url, 'utf8').matchAll(
      /^(?:import|export) (?!type )[^;]*?from '([^']+)';|^import '([^']+)';/gm,
    );
    for (const [, path = '', bare = ''] of imported) {
      const name = path === '' ? bare : path;
      if (name.startsWith('.')) follow(new URL(name, url));
      else packages.add(name);
    }
  };
  follow(new URL('index.ts', import.meta.url));
  expect([...packages].toSorted()).toEqual(['viem', 'zod']);
  const outside = [...files]
    .map((href) => href.slice(new URL('../../', import.meta.url).href.length))
    .filter((path) => !path.startsWith('relayer/client/'));
  const others = outside.filter((path) => !path.startsWith('contracts-abi/'));
  expect(others.toSorted()).toEqual(['relayer/receipt.ts', 'runtime/schema.ts']);
  const read = [...files].map((href) => readFileSync(new URL(href), 'utf8')).join('\n');
  expect(read).not.toMatch(/\b(process|Buffer|globalThis)\./);
  expect(existsSync(new URL('journal-file.ts', import.meta.url))).toBe(true);
});
