/** `npx tsx fork-tests/sender/kill.ts [rounds]`: rounds of SIGKILLs at every durable point (default 4, 56 kills). */
import { renderKills, runKills } from './kills.ts';

const rounds = Number(process.argv[2] ?? 4);
const report = await runKills(rounds, (line) => process.stderr.write(`${line}\n`));
process.stdout.write(`${renderKills(report)}\n`);
process.exit(report.problems.length === 0 ? 0 : 1);
