/**
 * `npm run gas`: measures every public function of the contracts; writes snapshot.json and the tables of README.md.
 * `npm run gas -- --check` compares instead, within 1%.
 */
import { runGasSuites } from './forge.ts';
import { differences, figuresOf, unmeasured } from './measure.ts';
import { itemisedTable, overheadTable } from './overhead.ts';
import { readSnapshot, writeSnapshot } from './snapshot.ts';

const account = await runGasSuites();
const figures = figuresOf(account);
const tables = { overhead: overheadTable(figures), items: itemisedTable(account, figures) };
const problems = unmeasured(figures).map((name) => `${name}: not measured`);
if (process.argv.includes('--check')) problems.push(...differences(readSnapshot(), figures));
else writeSnapshot(figures, tables);
process.stdout.write(`${tables.overhead}\n\n${tables.items}\n`);
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`${Object.keys(figures).length} figures, ${problems.length} problems\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
