/**
 * The three real processes on one chain, each started as an operator would: its entry point, its environment, its
 * own data file. Ports are the system's choice, read from a free one just before the start.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { devAccount } from '../chain/seed/accounts.ts';
import { type Child, startChild } from '../start/children.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

export type ProcessName = 'api' | 'keeper' | 'relayer';

export type Running = {
  url: string;
  child: Child;
  /** The last lines of its log, for a failing test. */
  log: string[];
};

export type Stack = {
  urls: Record<ProcessName, string>;
  running: ReadonlyMap<ProcessName, Running>;
  /** `entry` replaces the process's own entry point (the kill tests add a hook to it). */
  start: (
    name: ProcessName,
    options?: { env?: Record<string, string>; entry?: string },
  ) => Promise<Running>;
  /** The process's data file. */
  database: (name: ProcessName) => string;
  stop: () => Promise<void>;
  /** JSON of an answer, its status beside it. */
  get: (url: string) => Promise<{ status: number; body: Record<string, unknown> }>;
  post: (url: string, body: unknown) => Promise<{ status: number; body: Record<string, unknown> }>;
};

/** A port that is free now. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** Resolves once `check` gives something other than null; rejects at the deadline with what was waited for. */
export async function until<T>(
  what: string,
  check: () => Promise<T | null>,
  deadlineMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const value = await check();
    if (value !== null) return value;
    if (Date.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function createStack(options: {
  rpcUrl: string;
  deployment: Deployment;
  env?: Record<string, string>;
}): Promise<Stack> {
  const data = mkdtempSync(join(tmpdir(), 'basket-stack-'));
  const deploymentFile = join(data, 'deployment.json');
  writeFileSync(deploymentFile, JSON.stringify(options.deployment));
  const ports: Record<ProcessName, number> = {
    api: await freePort(),
    keeper: await freePort(),
    relayer: await freePort(),
  };
  const at = (name: ProcessName): string => `http://127.0.0.1:${ports[name]}`;
  const urls = { api: at('api'), keeper: at('keeper'), relayer: at('relayer') };
  const own: Record<ProcessName, Record<string, string>> = {
    api: {
      API_PORT: String(ports.api),
      PUBLIC_BASE_URL: urls.api,
      RELAYER_URL: urls.relayer,
    },
    keeper: {
      KEEPER_PORT: String(ports.keeper),
      API_URLS: urls.api,
      KEEPER_POLL_MS: '200',
      WALLET_PRIVATE_KEYS: devAccount('keeper').privateKey,
    },
    relayer: {
      RELAYER_PORT: String(ports.relayer),
      WALLET_PRIVATE_KEYS: devAccount('relayer').privateKey,
    },
  };
  const running = new Map<ProcessName, Running>();

  const start: Stack['start'] = async (name, { env = {}, entry } = {}) => {
    const log: string[] = [];
    const child = startChild({
      name,
      entry: entry ?? join(root, name, 'main.ts'),
      cwd: data,
      env: {
        PATH: process.env.PATH,
        LOG_LEVEL: 'info',
        HTTP_REQUESTS_PER_MINUTE: '0',
        RPC_URLS: options.rpcUrl,
        DEPLOYMENT_FILE: deploymentFile,
        DATABASE_URL: `file:${join(data, `${name}.sqlite`)}`,
        ...own[name],
        ...options.env,
        ...env,
      },
      onLine: (line) => {
        log.push(line);
        if (log.length > 500) log.shift();
      },
    });
    const started: Running = { url: urls[name], child, log };
    running.set(name, started);
    let ended = false;
    void child.exited.then(() => {
      ended = true;
    });
    let why = 'no answer yet';
    try {
      await until(
        `${name} ready`,
        async () => {
          if (ended) throw new Error(`${name} ended while starting`);
          try {
            const response = await fetch(`${urls[name]}/ready`, {
              signal: AbortSignal.timeout(2_000),
            });
            why = await response.text();
            return response.ok ? true : null;
          } catch {
            // expected while it starts
            return null;
          }
        },
        60_000,
      );
    } catch (error) {
      throw new Error(`${String(error)}\n${why}\n${log.slice(-30).join('\n')}`, { cause: error });
    }
    return started;
  };

  const answer = async (response: Response) => ({
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
  });

  return {
    urls,
    running,
    start,
    database: (name) => join(data, `${name}.sqlite`),
    stop: async () => {
      await Promise.all([...running.values()].map(({ child }) => child.stop(10_000)));
      rmSync(data, { recursive: true, force: true });
    },
    get: async (url) => answer(await fetch(url, { signal: AbortSignal.timeout(30_000) })),
    post: async (url, body) =>
      answer(
        await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(30_000),
        }),
      ),
  };
}
