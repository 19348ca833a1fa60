/**
 * `npm start`: the local chain, api, keeper and relayer as separate processes with one readable log.
 * Ctrl-C stops them in reverse order; a child that ends by itself ends the whole. Nothing is left behind: the run's
 * data live in .data/start-<chain port>, which goes with it (the cached chain state in .cache stays, it is what makes
 * the next start quick).
 */
import { appendFileSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError, loadConfig, loadEnvFile } from '../../runtime/config.ts';
import { makeFolder } from '../../runtime/make-folder.ts';
import { type Child, startChild } from './children.ts';
import { lockFolder } from './lock.ts';
import { readableLine } from './log.ts';
import { startOptions } from './options.ts';
import { takenPorts } from './ports.ts';
import { parseReady, type Ready } from './ready.ts';
import { summary } from './summary.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const START_DEADLINE_MS = 180_000;
const STOP_DEADLINE_MS = 15_000;

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function readyWithin(url: string, child: Child, deadline: number): Promise<void> {
  let why = 'no answer';
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  while (Date.now() < deadline) {
    if (ended) throw new Error(`${child.name} ended while starting: its log is above`);
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      if (response.ok) return;
      const report = (await response.json()) as { checks?: { name: string; reason?: string }[] };
      why = (report.checks ?? []).flatMap(({ reason }) => reason ?? []).join('; ');
    } catch {
      // expected while the process is starting
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${child.name} is not ready: ${why}`);
}

async function main(): Promise<void> {
  loadEnvFile();
  const config = loadConfig(startOptions);
  const taken = await takenPorts([
    { variable: 'LOCAL_CHAIN_PORT', port: config.LOCAL_CHAIN_PORT, what: 'local chain' },
    { variable: 'API_PORT', port: config.API_PORT, what: 'api' },
    { variable: 'RELAYER_PORT', port: config.RELAYER_PORT, what: 'relayer' },
    { variable: 'KEEPER_PORT', port: config.KEEPER_PORT, what: 'keeper' },
  ]);
  if (taken.length > 0) {
    for (const line of taken) process.stderr.write(`${line}\n`);
    process.exitCode = 1;
    return;
  }

  const startedAt = Date.now();
  const data = join(root, '.data', `start-${config.LOCAL_CHAIN_PORT}`);
  const lock = lockFolder(data);
  if (lock === null) {
    process.stderr.write(
      `Another npm start with LOCAL_CHAIN_PORT=${config.LOCAL_CHAIN_PORT} is under way here. Stop it, or choose other ports: LOCAL_CHAIN_PORT=… API_PORT=… RELAYER_PORT=… KEEPER_PORT=… npm start\n`,
    );
    process.exitCode = 1;
    return;
  }
  // Rows of an earlier run speak of another chain: a run that was killed may have left its folder.
  rmSync(data, { recursive: true, force: true });
  makeFolder(data);
  const children: Child[] = [];
  let stopping = false;

  const stop = async (why: string, code: number): Promise<void> => {
    if (stopping) return;
    stopping = true;
    say(`\nStopping (${why}) …`);
    for (const child of children.toReversed()) await child.stop(STOP_DEADLINE_MS);
    rmSync(data, { recursive: true, force: true });
    lock.release();
    try {
      rmdirSync(join(root, '.data'));
    } catch {
      // expected: another run or the operator keeps something there
    }
    say('Stopped: no process and no temporary file is left.');
    process.exit(code);
  };
  process.on('SIGINT', () => void stop('Ctrl-C', 0));
  process.on('SIGTERM', () => void stop('SIGTERM', 0));
  process.on('SIGHUP', () => void stop('terminal closed', 0));

  const launch = (
    name: string,
    entry: string,
    env: Record<string, string>,
    onLine?: (line: string) => void,
  ): Child => {
    const child = startChild({
      name,
      entry: join(root, entry),
      cwd: root,
      env: { ...process.env, ...env },
      onLine: (line) => {
        if (config.START_LOG_FILE !== undefined) {
          makeFolder(dirname(config.START_LOG_FILE));
          appendFileSync(config.START_LOG_FILE, `${line}\n`);
        }
        onLine?.(line);
        if (parseReady(line) === null) say(readableLine(name, line));
      },
    });
    children.push(child);
    void child.exited.then((code) => stop(`${name} ended with code ${code ?? 'none'}`, 1));
    return child;
  };

  try {
    const deadline = Date.now() + START_DEADLINE_MS;
    const deploymentFile = join(data, 'deployment.json');
    say('Starting the local chain (the first time it is built, about half a minute) …');
    const ready = await new Promise<Ready>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error('the local chain is not ready in time')),
        START_DEADLINE_MS,
      );
      launch(
        'chain',
        'fork-tests/chain/main.ts',
        { LOCAL_CHAIN_PORT: String(config.LOCAL_CHAIN_PORT), DEPLOYMENT_FILE: deploymentFile },
        (line) => {
          const parsed = parseReady(line);
          if (parsed !== null) {
            clearTimeout(timer);
            resolve(parsed);
          }
        },
      );
    });

    const at = (port: number): string => `http://127.0.0.1:${port}`;
    const common = {
      RPC_URLS: ready.rpcUrl,
      DEPLOYMENT_FILE: deploymentFile,
      HTTP_HOST: '127.0.0.1',
    };
    const account = (name: string) => {
      const found = ready.accounts.find((candidate) => candidate.name === name);
      if (found === undefined) throw new Error(`the local chain has no account "${name}"`);
      return found;
    };
    const processes = [
      launch('api', 'api/main.ts', {
        ...common,
        API_PORT: String(config.API_PORT),
        PUBLIC_BASE_URL: process.env.PUBLIC_BASE_URL ?? at(config.API_PORT),
        RELAYER_URL: process.env.RELAYER_URL ?? at(config.RELAYER_PORT),
        DATABASE_URL: `file:${join(data, 'api.sqlite')}`,
      }),
      launch('relayer', 'relayer/main.ts', {
        ...common,
        RELAYER_PORT: String(config.RELAYER_PORT),
        DATABASE_URL: `file:${join(data, 'relayer.sqlite')}`,
        WALLET_PRIVATE_KEYS: account('relayer').privateKey,
      }),
      launch('keeper', 'keeper/main.ts', {
        ...common,
        KEEPER_PORT: String(config.KEEPER_PORT),
        API_URLS: at(config.API_PORT),
        DATABASE_URL: `file:${join(data, 'keeper.sqlite')}`,
        WALLET_PRIVATE_KEYS: account('keeper').privateKey,
      }),
    ];
    const ports = [config.API_PORT, config.RELAYER_PORT, config.KEEPER_PORT];
    await Promise.all(
      processes.map((child, index) =>
        readyWithin(`${at(ports[index] ?? 0)}/ready`, child, deadline),
      ),
    );
    const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
    say(
      summary({
        chain: ready.rpcUrl,
        api: at(config.API_PORT),
        relayer: at(config.RELAYER_PORT),
        keeper: at(config.KEEPER_PORT),
        accounts: ready.accounts,
        seconds,
      }),
    );
  } catch (error) {
    if (!stopping) {
      process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
      await stop('start failed', 1);
    }
  }
}

try {
  await main();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
