/**
 * Soaks: what an operator leaves running for months, in minutes. By hand, since they take their time.
 *   npm run soak -- keeper [--minutes 20]
 *   npm run soak -- relayer [--kills 300] [--replicas 1|2] [--seed 4663]
 *   npm run soak -- cover [--positions 10000]
 * Each ends with its figures as one line of JSON, and exits with 1 when anything did not hold.
 */
import { parseArgs } from 'node:util';
import { soakCover } from './cover.ts';
import { soakKeeper } from './keeper.ts';
import { soakRelayer } from './relayer.ts';

const USAGE = `usage: npm run soak -- keeper [--minutes 20]   at least 1
       npm run soak -- relayer [--kills 300] [--replicas 1|2] [--seed 4663]
       npm run soak -- cover [--positions 10000]   at least 200
`;
const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function soak(name: string | undefined, text: Record<string, string>) {
  const [minutes, kills, replicas, seed, positions] = [
    text.minutes,
    text.kills,
    text.replicas,
    text.seed,
    text.positions,
  ].map(Number) as [number, number, number, number, number];
  if (name === 'keeper' && minutes >= 1) return await soakKeeper({ minutes, say });
  const isWhole = [kills, seed].every((value) => Number.isSafeInteger(value) && value > 0);
  if (name === 'relayer' && isWhole && (replicas === 1 || replicas === 2)) {
    return await soakRelayer({ kills, replicas, seed, say });
  }
  if (name === 'cover' && Number.isSafeInteger(positions) && positions >= 200) {
    return await soakCover({ positions, say });
  }
  return null;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: 'string', default: '20' },
      kills: { type: 'string', default: '300' },
      replicas: { type: 'string', default: '1' },
      seed: { type: 'string', default: '4663' },
      positions: { type: 'string', default: '10000' },
    },
  });
  const [name, ...others] = positionals;
  const result = others.length > 0 ? null : await soak(name, values);
  if (result === null) {
    process.stderr.write(USAGE);
    return 2;
  }
  const { ok, figures, problems } = result;
  for (const problem of problems) say(`does not hold: ${problem}`);
  process.stdout.write(`${JSON.stringify({ name: `soak ${name}`, ok, ...figures, problems })}\n`);
  return ok ? 0 : 1;
}

process.exitCode = await main();
