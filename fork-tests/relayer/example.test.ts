/** The README's agent, run as it stands there. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { executions } from './agent.ts';
import { useClientScene } from './client-scene.ts';

const root = join(import.meta.dirname, '..', '..');
const scene = useClientScene();

/** The lines that a run of the example printed. */
async function runExample(env: Record<string, string>): Promise<Record<string, unknown>[]> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'relayer/client/example.ts'], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString('utf8');
  });
  const code = await new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

it('the agent of the README buys once a day, however often it is started', async () => {
  const example = readFileSync(join(root, 'relayer', 'client', 'example.ts'), 'utf8');
  const shown = /```ts\n(\/\*\*\n \* A whole agent[\s\S]*?)```/.exec(
    readFileSync(join(root, 'README.md'), 'utf8'),
  );
  expect(shown?.[1]).toBe(example);

  const { agent, api, proxy, fork, data } = scene;
  const file = join(data.path, 'agent-deployment.json');
  writeFileSync(file, JSON.stringify(fork.deployment));
  const env = {
    OWNER: fork.accounts[agent.owner].account.address,
    AGENT_KEY: agent.privateKey,
    API: api.url,
    RELAYER: proxy.url,
    RPC: fork.url,
    DEPLOYMENT_FILE: file,
    JOURNAL: join(data.path, 'agent.journal'),
  };
  const [first] = await runExample(env);
  expect(first).toMatchObject({ tag: 'executed' });
  const [second] = await runExample(env);
  // Past midnight (UTC) the second run is of another day.
  const sameDay = first?.id === second?.id;
  expect(await executions(fork, agent.account)).toHaveLength(sameDay ? 1 : 2);
  if (sameDay) expect(second).toEqual(first);
});
