/** What each process tells the operator when it cannot start: one line that names what is wrong, and no stack. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { keeperEnv, launchKeeper, stopKeepers } from './use-keeper.ts';

const fork = useFork();
const root = join(import.meta.dirname, '../..');
const place = mkdtempSync(join(tmpdir(), 'basket-faults-'));
afterAll(async () => {
  await stopKeepers();
  rmSync(place, { recursive: true, force: true });
});

/** Runs a process to its end; what it wrote where. */
async function start(words: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, ['--import', 'tsx', ...words], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env, LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (text) => (out += text));
  child.stderr.on('data', (text) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

test('a damaged database, a taken port, a file in use, a deployment of another chain', async () => {
  const { DATABASE_URL: _, ...common } = keeperEnv(fork, ['http://127.0.0.1:1'], place);
  const env = { ...common, API_PORT: '0', RELAYER_PORT: '0' };
  // Each a file of its own: who opens it for sending holds it, until it has seen what it is.
  let torn = 0;
  const damaged = () => {
    const database = join(place, `torn-${(torn += 1)}.sqlite`);
    writeFileSync(database, 'no database');
    return { ...env, DATABASE_URL: `file:${database}` };
  };
  const isDamaged = /^\/.*torn-\d\.sqlite is damaged or no SQLite database .*\n$/;
  const busy = createServer();
  await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
  const port = String((busy.address() as AddressInfo).port);
  const holder = await launchKeeper(fork, []);
  const wrong = join(place, 'wrong.json');
  const { usdg } = fork.deployment;
  writeFileSync(wrong, JSON.stringify({ ...fork.deployment, exitEscrow: usdg }));
  const misfit =
    /does not fit the chain of RPC_URLS: no contract of the protocol at exitEscrow 0x.*\n$/;
  const invalid = join(place, 'invalid.json');
  writeFileSync(invalid, JSON.stringify({ ...fork.deployment, usdg: '0x12' }));

  const cases: [words: string[], env: Record<string, string>, says: RegExp][] = [
    [['keeper/main.ts', 'statement'], damaged(), isDamaged],
    [['keeper/main.ts', 'once'], damaged(), isDamaged],
    [['keeper/main.ts'], damaged(), isDamaged],
    [['api/main.ts'], damaged(), isDamaged],
    [['relayer/main.ts'], damaged(), isDamaged],
    [['keeper/main.ts'], { ...env, KEEPER_PORT: port }, /^port \d+ on .* is taken.*\n$/],
    [
      ['keeper/main.ts'],
      { ...env, DATABASE_URL: holder.env.DATABASE_URL ?? '' },
      /^.*keeper\.sqlite is open in another process.*\n$/,
    ],
    [['keeper/main.ts', 'once'], { ...env, DEPLOYMENT_FILE: wrong }, misfit],
    [['relayer/main.ts'], { ...env, DEPLOYMENT_FILE: wrong }, misfit],
    [['api/main.ts'], { ...env, DEPLOYMENT_FILE: invalid }, /^.* is not valid: usdg: .*\n$/],
  ];
  const ends = await Promise.all(
    cases.map(async ([words, given], at) =>
      start(words, { DATABASE_URL: `file:${join(place, `${at}.sqlite`)}`, ...given }),
    ),
  );
  busy.close();
  for (const [at, { code, out, err }] of ends.entries()) {
    const [words, , says] = cases[at] ?? [];
    expect(err, words?.join(' ')).toMatch(says ?? /never/);
    expect(`${out}${err}`, words?.join(' ')).not.toMatch(/\bat .*\.ts:\d+/);
    expect(code).toBe(1);
  }
}, 120_000);
