/** `npm start` as it is run by hand: two at once, a supervisor killed, what is left. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { freePort, until } from '../e2e/stack.ts';

const root = join(import.meta.dirname, '..', '..');
const READY_MS = 150_000;

type Start = { child: ChildProcess; output: () => string; exit: Promise<number | null> };

const started: Start[] = [];
const folders = new Set<string>();

afterAll(async () => {
  for (const { child } of started) child.kill('SIGTERM');
  await Promise.all(started.map(({ exit }) => exit));
  for (const folder of folders) {
    for (const end of ['', '.lock', '.lock-journal']) {
      rmSync(folder + end, { recursive: true, force: true });
    }
  }
});

function start(ports: Record<string, string>): Start {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', join(root, 'fork-tests/start/main.ts')],
    {
      cwd: root,
      env: { ...process.env, ...ports },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  }
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const one = { child, output: () => output, exit };
  started.push(one);
  return one;
}

async function freePorts(): Promise<Record<string, string>> {
  const names = ['LOCAL_CHAIN_PORT', 'API_PORT', 'RELAYER_PORT', 'KEEPER_PORT'];
  const ports = await Promise.all(names.map(() => freePort()));
  return Object.fromEntries(names.map((name, index) => [name, String(ports[index])]));
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

const lives = (pid: number): boolean => {
  try {
    // A zombie that nobody has waited for has ended.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    // expected: it is gone
    return false;
  }
};

it('refuses a second start on the same ports and leaves the first whole; killed outright, it leaves no process', async () => {
  const ports = await freePorts();
  const folder = join(root, '.data', `start-${ports.LOCAL_CHAIN_PORT}`);
  folders.add(folder);
  const both = [start(ports), start(ports)];
  const refused = await Promise.race(both.map(async (one) => ({ one, code: await one.exit })));
  expect(refused.code).toBe(1);
  expect(refused.one.output()).toMatch(/Another npm start|is taken/);
  const first = both.find((one) => one !== refused.one) as Start;
  await until(
    'all ready',
    async () => (first.output().includes('All ready') ? true : null),
    READY_MS,
  );
  expect(existsSync(join(folder, 'deployment.json'))).toBe(true);
  const ready = await fetch(`http://127.0.0.1:${ports.RELAYER_PORT}/ready`);
  expect(ready.status).toBe(200);

  const children = childrenOf(first.child.pid ?? 0);
  expect(children.length).toBeGreaterThanOrEqual(4);
  first.child.kill('SIGKILL');
  await first.exit;
  await until(
    `the end of ${children.join(' ')}`,
    async () => (children.some(lives) ? null : true),
    30_000,
  );
  await expect(fetch(`http://127.0.0.1:${ports.LOCAL_CHAIN_PORT}`)).rejects.toThrow();
}, 240_000);
