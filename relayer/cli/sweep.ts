/**
 * `sweep`: fees above the float to the cold address, now. Only one process sends from the wallets: where a relayer
 * runs, it is asked to sweep; where none does, this command does it itself.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { readDeployment } from '../../contracts-abi/deployment.ts';
import { assertDeployment } from '../../runtime/chain/assert-deployment.ts';
import { assertChainId, createChainClient } from '../../runtime/chain/client.ts';
import { steadyNow } from '../../runtime/clock.ts';
import { ConfigError, loadConfig } from '../../runtime/config.ts';
import { loadWallets } from '../../runtime/keys/wallets.ts';
import { endProcess } from '../../runtime/lifecycle.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { senderSettings } from '../../runtime/sender/options.ts';
import { createSender } from '../../runtime/sender/sender.ts';
import { StoreHeldError } from '../../runtime/store/errors.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { createMarksReader } from '../chain/marks.ts';
import { type RelayerConfig, relayerOptions } from '../config.ts';
import { createPurseOf } from '../money/housekeeping.ts';
import { checkedTreasury, sweepRulesOf } from '../money/options.ts';
import { askForSweep, sweepAnswer } from '../money/requests.ts';
import {
  besideRelayer,
  DEFAULT_DATABASE_URL,
  LEAD_NAME,
  type StoreTables,
  storeMigrations,
} from '../store.ts';

const ANSWER_MS = 60_000;
const ASK_EVERY_MS = 250;
const MOVE_WAIT_MS = 30_000;
const DRAIN_MS = 4_000;

/** Returns the exit code: 0 when everything that was due was swept. */
export async function runSweep(
  env: NodeJS.ProcessEnv,
  logger: Logger,
  say: (line: string) => void,
): Promise<number> {
  const config = loadConfig(relayerOptions, env);
  if (config.RELAY_SWEEP_TO === undefined) {
    throw new ConfigError('RELAY_SWEEP_TO is not set: there is no address to sweep to');
  }
  const store = await takeStore(config);
  const lines =
    store === null ? await askRelayer(env, say) : await sweepHere(config, store, logger);
  if (lines === null) {
    say('the relayer that runs did not answer: it sweeps as soon as it can');
    return 1;
  }
  for (const line of lines) say(line);
  return lines.some((line) => /: (not sent|refused|reverted|cancelled|superseded)/.test(line))
    ? 1
    : 0;
}

/** The store with the right to send, or null while a relayer has it. */
async function takeStore(config: RelayerConfig): Promise<Store<StoreTables> | null> {
  try {
    return await openStore<StoreTables>({
      url: config.DATABASE_URL ?? DEFAULT_DATABASE_URL,
      migrations: storeMigrations,
      exclusive: LEAD_NAME,
    });
  } catch (error) {
    if (error instanceof StoreHeldError) return null;
    throw error;
  }
}

async function askRelayer(
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<string[] | null> {
  say('a relayer runs: it is asked to sweep');
  return await besideRelayer(env, false, async ({ db }) => {
    const askedAt = await askForSweep(db, Date.now());
    const until = steadyNow() + ANSWER_MS;
    while (steadyNow() < until) {
      const answer = await sweepAnswer(db, askedAt);
      if (answer !== null) return answer.split('\n');
      await delay(ASK_EVERY_MS);
    }
    return null;
  });
}

async function sweepHere(
  config: RelayerConfig,
  store: Store<StoreTables>,
  logger: Logger,
): Promise<string[]> {
  try {
    const deployment = readDeployment(config.DEPLOYMENT_FILE);
    const loaded = loadWallets(config);
    if (loaded.tag === 'invalid') throw new ConfigError(loaded.problem);
    const accounts = loaded.wallets.map(({ account }) => account);
    const wallets = accounts.map(({ address }) => address);
    const treasury = checkedTreasury(config, deployment, wallets);
    const client = createChainClient({
      urls: config.RPC_URLS,
      timeoutMs: config.RPC_TIMEOUT_MS,
      multicall3: deployment.multicall3,
    });
    await assertChainId(client);
    await assertDeployment(client, deployment);
    const metrics = createMetrics('relayer');
    const settings = senderSettings(config);
    const sender = createSender<StoreTables>({
      rpc: { urls: config.RPC_URLS, timeoutMs: config.RPC_TIMEOUT_MS },
      chainId: CHAIN_ID,
      wallets: accounts,
      namedOnly: treasury === null ? [] : [treasury],
      store,
      settings,
      logger,
      registry: metrics.registry,
      metricsPrefix: 'basket_relayer',
      onFatal: endProcess,
    });
    const marks = createMarksReader(client, deployment, settings.tip);
    try {
      await sender.start();
      const purse = createPurseOf({
        config,
        deployment,
        client,
        db: store.db,
        sender,
        wallets,
        treasury: treasury?.address ?? null,
        marks,
        metrics,
        logger,
        waitMs: MOVE_WAIT_MS,
      });
      return await purse.sweep({ ...sweepRulesOf(config), periodMs: 0 });
    } finally {
      marks.stop();
      await sender.stop(DRAIN_MS);
    }
  } finally {
    await store.close();
  }
}
