/** A supervisor ends what it started by a TERM to npm: it must reach the process, which then ends by itself. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { deployment } from '../../keeper/firewall/fixture.ts';
import { freePort, until } from '../e2e/stack.ts';

const root = join(import.meta.dirname, '..', '..');

it('a TERM to `npm run api` is the end of the api, by its own drain', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'basket-scripts-'));
  const deploymentFile = join(folder, 'deployment.json');
  writeFileSync(deploymentFile, JSON.stringify(deployment));
  const port = await freePort();
  const npm = spawn('npm', ['run', 'api'], {
    cwd: root,
    env: {
      ...process.env,
      API_PORT: String(port),
      DEPLOYMENT_FILE: deploymentFile,
      DATABASE_URL: 'file::memory:',
      // No chain listens: the api serves all the same, and says so in /ready.
      RPC_URLS: `http://127.0.0.1:${await freePort()}`,
      LOG_LEVEL: 'info',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  npm.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  // `close` comes once every process that holds the pipe is gone, not npm alone.
  const closed = new Promise<void>((resolve) => npm.once('close', () => resolve()));
  try {
    await until(
      'the api answers',
      async () => {
        try {
          return (await fetch(`http://127.0.0.1:${port}/health`)).ok ? true : null;
        } catch {
          return null; // expected: it is still starting
        }
      },
      60_000,
    );
    npm.kill('SIGTERM');
    await closed;
    expect(output).toContain('stopping');
    await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow();
  } finally {
    npm.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
