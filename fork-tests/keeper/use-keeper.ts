/** A real keeper against a fork: assembled as its process does it, with a data folder of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keeperConfigSchema } from '../../keeper/config.ts';
import { createKeeper, type Keeper } from '../../keeper/keeper.ts';
import { loadConfig } from '../../runtime/config.ts';
import { createLogger } from '../../runtime/logger.ts';
import type { Role } from '../chain/seed/accounts.ts';
import type { Fork } from '../harness/fork.ts';

export type KeeperUnderTest = Keeper & { folder: string; env: Record<string, string> };

export type KeeperSettings = {
  /** Whose key it sends with. */
  role?: Role;
  /** Endpoint, when not the fork itself. */
  rpcUrl?: string;
  dryRun?: boolean;
  env?: Record<string, string>;
};

const NEVER = '0 0 29 2 *';

/** The environment of a keeper process on this fork, with its files in `folder`. */
export function keeperEnv(
  fork: Fork,
  apiUrls: readonly string[],
  folder: string,
  settings: KeeperSettings = {},
): Record<string, string> {
  const deploymentFile = join(folder, 'deployment.json');
  writeFileSync(deploymentFile, JSON.stringify(fork.deployment));
  return {
    RPC_URLS: settings.rpcUrl ?? fork.url,
    API_URLS: apiUrls.join(','),
    DEPLOYMENT_FILE: deploymentFile,
    DATABASE_URL: `file:${join(folder, 'keeper.sqlite')}`,
    WALLET_PRIVATE_KEYS: fork.accounts[settings.role ?? 'keeper'].privateKey,
    KEEPER_PORT: '0',
    KEEPER_POLL_MS: '100',
    KEEPER_DRAIN_MS: '500',
    // Most tests are of what a source lists, or does not: nothing else may find the work.
    KEEPER_DISCOVERY: 'off',
    SENDER_TICK_MS: '20',
    SENDER_CONFIRMATIONS: '1',
    // What runs by the clock would ask the chain in the middle of a test that counts calls: `housekeep` runs it.
    KEEPER_BALANCE_CRON: NEVER,
    KEEPER_SWEEP_CRON: NEVER,
    KEEPER_STATEMENT_CRON: NEVER,
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'fatal',
    ...settings.env,
  };
}

const running: KeeperUnderTest[] = [];

/** Starts a keeper; `stopKeepers` in an afterEach ends all of them. */
export async function launchKeeper(
  fork: Fork,
  apiUrls: readonly string[],
  settings: KeeperSettings = {},
): Promise<KeeperUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'basket-keeper-'));
  return startIn(folder, keeperEnv(fork, apiUrls, folder, settings), settings.dryRun ?? false);
}

/** Ends this keeper and starts the next one on what it left. */
export async function restartKeeper(keeper: KeeperUnderTest): Promise<KeeperUnderTest> {
  await keeper.stop();
  running.splice(running.indexOf(keeper), 1);
  return startIn(keeper.folder, keeper.env, false);
}

async function startIn(
  folder: string,
  env: Record<string, string>,
  dryRun: boolean,
): Promise<KeeperUnderTest> {
  const config = loadConfig(keeperConfigSchema, env);
  const mode = { dryRun, serve: true };
  const keeper = await createKeeper(config, createLogger('keeper', config.LOG_LEVEL), mode);
  const started = { ...keeper, folder, env };
  running.push(started);
  return started;
}

export async function stopKeepers(): Promise<void> {
  for (const keeper of running.splice(0)) {
    await keeper.stop();
    rmSync(keeper.folder, { recursive: true, force: true });
  }
}

/** One metric line's value, summed over labels that contain `labels`; 0 when there is none. */
export async function metricOf(keeper: Keeper, name: string, labels = ''): Promise<number> {
  const text = await (await fetch(`${keeper.url}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(`basket_keeper_${name}`) && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Waits on a condition; fails with `what` when it does not hold in time. */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
  withinMs = 20_000,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
