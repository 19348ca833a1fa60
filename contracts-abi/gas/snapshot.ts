import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Figures } from './measure.ts';

const snapshotPath = fileURLToPath(new URL('./snapshot.json', import.meta.url));
const pagePath = fileURLToPath(new URL('./README.md', import.meta.url));

export function readSnapshot(): Figures {
  return JSON.parse(readFileSync(snapshotPath, 'utf8')) as Figures;
}

/** The snapshot, and the tables of the page between their marks. */
export function writeSnapshot(figures: Figures, tables: Record<string, string>): void {
  writeFileSync(snapshotPath, `${JSON.stringify(figures, null, 2)}\n`);
  let page = readFileSync(pagePath, 'utf8');
  for (const [name, table] of Object.entries(tables)) {
    const [from, to] = [`<!-- ${name} -->\n`, `\n<!-- end of ${name} -->`];
    const start = page.indexOf(from) + from.length;
    const end = page.indexOf(to);
    if (start < from.length || end < start) throw new Error(`README.md: no place for ${name}`);
    page = page.slice(0, start) + table + page.slice(end);
  }
  writeFileSync(pagePath, page);
}
