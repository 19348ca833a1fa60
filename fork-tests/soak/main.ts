/**
 * `npm run soak -- keeper --minutes 20`: what an operator leaves running for months, in minutes. By hand, since it
 * takes its time. Ends with its figures as one line of JSON; exits 1 when anything did not hold.
 */
import { parseArgs } from 'node:util';
import { soakKeeper } from './keeper.ts';

const USAGE = 'usage: npm run soak -- keeper [--minutes 20]\n';

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { minutes: { type: 'string', default: '20' } },
  });
  const minutes = Number(values.minutes);
  if (positionals[0] !== 'keeper' || positionals.length !== 1 || !(minutes > 0)) {
    process.stderr.write(USAGE);
    return 2;
  }
  const { ok, figures, problems } = await soakKeeper({
    minutes,
    say: (line) => process.stderr.write(`${line}\n`),
  });
  for (const problem of problems) process.stderr.write(`does not hold: ${problem}\n`);
  process.stdout.write(`${JSON.stringify({ name: 'soak keeper', ok, ...figures, problems })}\n`);
  return ok ? 0 : 1;
}

process.exitCode = await main();
