/** The processes of a soak: each with a folder of its own that outlives its ends. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { freePort, until } from '../e2e/stack.ts';
import { type Child, startChild } from '../start/children.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const LINES_KEPT = 400;

export type SoakProcess = {
  name: string;
  url: string;
  /** Of the process that runs now. */
  pid(): number;
  /** When that one became ready, by `performance.now`. */
  readySince(): number;
  /** The last lines that it wrote, over all its lives. */
  log: readonly string[];
  database: string;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it, again or for the first time, and waits until it is ready. */
  start(): Promise<void>;
  /** As an operator stops it. */
  stop(): Promise<void>;
};

export async function createProcess(options: {
  name: string;
  entry: 'api' | 'keeper' | 'relayer';
  folder: string;
  rpcUrl: string;
  deployment: Deployment;
  env: (port: number) => Record<string, string>;
}): Promise<SoakProcess> {
  const { name, entry, rpcUrl } = options;
  const folder = join(options.folder, name);
  mkdirSync(folder, { recursive: true });
  const deploymentFile = join(folder, 'deployment.json');
  writeFileSync(deploymentFile, JSON.stringify(options.deployment));
  const database = join(folder, `${entry}.sqlite`);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log: string[] = [];
  let child: Child | null = null;
  let readySince = 0;
  return {
    name,
    url,
    pid: () => child?.pid ?? 0,
    readySince: () => readySince,
    log,
    database,
    kill: async () => {
      child?.kill();
      await child?.exited;
    },
    start: async () => {
      let ended = false;
      child = startChild({
        name,
        entry: join(ROOT, entry, 'main.ts'),
        cwd: folder,
        env: {
          PATH: process.env.PATH,
          NODE_ENV: 'production',
          LOG_LEVEL: 'info',
          HTTP_REQUESTS_PER_MINUTE: '0',
          RPC_URLS: rpcUrl,
          RPC_TIMEOUT_MS: '3000',
          DEPLOYMENT_FILE: deploymentFile,
          DATABASE_URL: `file:${database}`,
          ...options.env(port),
        },
        onLine: (line) => {
          log.push(line);
          if (log.length > LINES_KEPT) log.shift();
        },
      });
      void child.exited.then(() => {
        ended = true;
      });
      await until(
        `${name} is up`,
        async () => {
          if (ended) throw new Error(`${name} ended while starting:\n${log.slice(-10).join('\n')}`);
          try {
            return (await fetch(`${url}/health`, { signal: AbortSignal.timeout(1_000) })).ok
              ? true
              : null;
          } catch {
            // Expected while it starts.
            return null;
          }
        },
        90_000,
      );
      readySince = performance.now();
    },
    stop: async () => child?.stop(20_000),
  };
}
