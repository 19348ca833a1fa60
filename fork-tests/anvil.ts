/**
 * Starts and stops real Anvil processes.
 *
 * The platform binary is spawned, never the npm package's Node wrapper: killing the wrapper leaves the real process
 * running and its port taken. A small shell stands between: it holds our end of a pipe and kills Anvil when that pipe
 * closes, so Anvil dies with its parent even when the parent is killed by SIGKILL and runs no handler. The past states
 * that Anvil keeps on disk go with it: a killed one leaves them behind, gigabytes by and by.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export type AnvilOptions = {
  /** More command-line arguments, last on the line. */
  args?: readonly string[];
  /** Fork of this endpoint; the chain id is then inherited unless `chainId` is given. */
  forkUrl?: string;
  /** Loaded at the start (`--load-state`); never written back. */
  stateFile?: string;
  /** Seconds between blocks, fractions allowed; absent: a block per transaction. */
  blockTime?: number;
  /** Default 4663, or the upstream's on a fork. */
  chainId?: number;
  /** Default 0: the system picks, `url` tells. */
  port?: number;
  /** Longest wait for the first answer, default 30 s. */
  startTimeoutMs?: number;
};

export type Anvil = {
  url: string;
  port: number;
  /** Of the Anvil process itself, for tests that kill or freeze it. */
  pid: number;
  /** Folder of the past states that it keeps on disk; gone soon after it. */
  states: string;
  /** Resolves when the process is gone, however it went. */
  exited: Promise<void>;
  /** Terminates it and resolves when it is gone. Safe to call twice. */
  stop(): Promise<void>;
};

const SUPERVISOR = [
  '"$0" "$@" </dev/null &',
  'anvil=$!',
  'echo "anvil-pid $anvil"',
  'exec >/dev/null 2>&1',
  'read -r _',
  'kill -9 "$anvil"',
  'wait "$anvil"',
  'rm -rf "$ANVIL_STATES"',
].join('\n');

/** Path of the native binary of a Foundry tool ("anvil", "forge") inside node_modules. */
export function foundryBinary(tool: 'anvil' | 'forge'): string {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const name = `@foundry-rs/${tool}-${process.platform}-${architecture}`;
  const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
  const path = join(dirname(manifest), 'bin', tool);
  if (!existsSync(path)) throw new Error(`${name} holds no bin/${tool}: run npm ci again`);
  return path;
}

function commandLine(options: AnvilOptions, states: string): string[] {
  const line = [
    '--cache-path',
    states,
    '--host',
    '127.0.0.1',
    '--port',
    String(options.port ?? 0),
    '--color',
    'never',
  ];
  if (options.forkUrl !== undefined) line.push('--fork-url', options.forkUrl);
  if (options.chainId !== undefined || options.forkUrl === undefined) {
    line.push('--chain-id', String(options.chainId ?? 4663));
  }
  if (options.stateFile !== undefined) line.push('--load-state', options.stateFile);
  if (options.blockTime !== undefined) line.push('--block-time', String(options.blockTime));
  return [...line, ...(options.args ?? [])];
}

/** One JSON-RPC call, for set-up code that wants no client; throws on an error answer. */
export async function rpc<T = unknown>(
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const answer = (await response.json()) as { result?: T; error?: { message: string } };
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result as T;
}

/** Starts Anvil and resolves once it answers. Rejects with its last output when it exits or stays silent. */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const states = mkdtempSync(join(tmpdir(), 'anvil-states-'));
  const child: ChildProcess = spawn(
    '/bin/sh',
    ['-c', SUPERVISOR, foundryBinary('anvil'), ...commandLine(options, states)],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      // Its own process group: Ctrl-C in a terminal reaches us alone, and we decide the order of the end.
      detached: true,
      env: { ...process.env, ANVIL_STATES: states },
    },
  );
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new Error('no pipes to the anvil supervisor');
  // EPIPE here only means that the supervisor went first.
  stdin.on('error', () => undefined);

  let output = '';
  let pid = 0;
  let port = 0;
  let ended = false;
  // The supervisor lets go of both streams, so they close exactly when Anvil ends.
  const exited = new Promise<void>((resolve) => {
    stdout.once('close', () => {
      ended = true;
      stdin.end();
      resolve();
    });
  });
  const listening = new Promise<void>((resolve) => {
    const read = (chunk: Buffer): void => {
      if (port !== 0) return; // Later output (one line per call) is drained, not kept.
      output = `${output}${chunk.toString('utf8')}`.slice(-20_000);
      const pidMatch = /anvil-pid (\d+)\n/.exec(output);
      if (pidMatch) pid = Number(pidMatch[1]);
      const match = /Listening on \S+?:(\d+)\s/.exec(output);
      if (match) {
        port = Number(match[1]);
        resolve();
      }
    };
    stdout.on('data', read);
    stderr.on('data', read);
  });

  const stop = async (): Promise<void> => {
    // Everything of the child is unreferenced once it runs; this wait must hold the process.
    const alive = setInterval(() => undefined, 1_000);
    if (!ended && pid !== 0) {
      try {
        process.kill(pid, 'SIGTERM');
      } catch {
        // expected: it ended between the check and the kill
      }
      await Promise.race([exited, wakeAfter(2_000)]);
    }
    stdin.end(); // The supervisor kills what is left.
    await exited;
    clearInterval(alive);
  };

  const limit = options.startTimeoutMs ?? 30_000;
  const first = await Promise.race([
    listening.then(() => 'listening' as const),
    exited.then(() => 'exited' as const),
    wakeAfter(limit).then(() => 'timeout' as const),
  ]);
  if (first !== 'listening') {
    await stop();
    throw new Error(`anvil did not start (${first}):\n${output.trim().slice(-2_000)}`);
  }
  const url = `http://127.0.0.1:${port}`;
  await rpc(url, 'eth_chainId');
  // A running chain must not keep a finished test process alive.
  child.unref();
  for (const stream of [stdin, stdout, stderr]) (stream as unknown as { unref(): void }).unref();
  return { url, port, pid, states, exited, stop };
}

function wakeAfter(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
