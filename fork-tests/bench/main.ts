/**
 * `npm run bench -- <name>`: runs one bench and ends with its figures as one line of JSON,
 * `{"name":…,"ratio":…,…}`. Exits 1 when the bench could not be run; a poor ratio is a figure, not a fault.
 */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench, BenchFigures } from './types.ts';

const folder = dirname(fileURLToPath(import.meta.url));
const NOT_BENCHES = new Set(['main.ts', 'types.ts']);

/** Every file beside this one is a bench. */
function benchNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !NOT_BENCHES.has(file))
    .map((file) => file.slice(0, -'.ts'.length))
    .toSorted();
}

/** Four significant digits: more would say more than a busy machine can. */
function short(value: BenchFigures[string]): BenchFigures[string] {
  if (typeof value === 'number') return Number(value.toPrecision(4));
  return Array.isArray(value) ? value.map((item) => Number(item.toPrecision(4))) : value;
}

async function main(name: string | undefined): Promise<number> {
  const names = benchNames();
  if (name === undefined || !names.includes(name)) {
    process.stderr.write(`usage: npm run bench -- <name>, one of ${names.join(', ')}\n`);
    return 1;
  }
  const { bench } = (await import(join(folder, `${name}.ts`))) as { bench: Bench };
  const figures = await bench({ say: (line) => process.stderr.write(`${name}: ${line}\n`) });
  if (!Number.isFinite(figures.ratio)) throw new Error(`${name} has no ratio`);
  const rounded = Object.entries(figures).map(([key, value]) => [key, short(value)]);
  process.stdout.write(`${JSON.stringify({ name, ...Object.fromEntries(rounded) })}\n`);
  return 0;
}

process.exitCode = await main(process.argv[2]);
