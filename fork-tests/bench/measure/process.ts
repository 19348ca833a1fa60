/** A server in a process of its own, its output in a file: a bench must not read log lines while it measures. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '../../e2e/stack.ts';

export type ServerProcess = {
  url: string;
  pid: number;
  /** Its own folder, gone after `stop`. */
  folder: string;
  /** What it has written so far. */
  output: () => string;
  stop: () => Promise<void>;
};

const START_MS = 60_000;
const STOP_MS = 10_000;

/**
 * Starts a TypeScript entry point and waits until `readyPath` answers 200.
 * @param env what the process needs, given its port and its folder; PATH alone is inherited.
 * @throws with its last output when it ends or stays silent.
 */
export async function startServerProcess(options: {
  entry: string;
  readyPath: string;
  env: (port: number, folder: string) => Record<string, string>;
}): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const port = await freePort();
  const file = join(folder, 'output.log');
  const output = openSync(file, 'w');
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), options.entry],
    {
      env: {
        PATH: process.env.PATH,
        STOP_WHEN_STDIN_ENDS: '1',
        NODE_ENV: 'production',
        ...options.env(port, folder),
      },
      // The open pipe on stdin is what ends the child when this process is killed.
      stdio: ['pipe', output, output],
    },
  );
  closeSync(output);
  child.stdin?.on('error', () => undefined);
  let ended = false;
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      ended = true;
      resolve();
    });
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(force);
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    await until(
      `${options.entry} answers ${options.readyPath}`,
      async () => {
        if (ended) throw new Error(`${options.entry} ended while starting`);
        try {
          return (await fetch(`${url}${options.readyPath}`)).ok ? true : null;
        } catch {
          // expected while it starts
          return null;
        }
      },
      START_MS,
    );
  } catch (error) {
    const text = readFileSync(file, 'utf8').slice(-3_000);
    if (!ended) await stop();
    throw new Error(`${String(error)}\n${text}`, { cause: error });
  }
  return { url, pid: child.pid ?? 0, folder, output: () => readFileSync(file, 'utf8'), stop };
}
