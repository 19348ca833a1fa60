/**
 * `sweep`: fees above the float to the cold address, now. Only one process sends from the wallets: where a relayer
 * leads, it is asked to sweep; where none does, this command leads for so long and does it itself.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { readDeployment } from '../../contracts-abi/deployment.ts';
import { assertDeployment } from '../../runtime/chain/assert-deployment.ts';
import { assertChainId, createChainClient } from '../../runtime/chain/client.ts';
import { steadyNow } from '../../runtime/clock.ts';
import { ConfigError, loadConfig } from '../../runtime/config.ts';
import { loadWallets } from '../../runtime/keys/wallets.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { senderSettings } from '../../runtime/sender/options.ts';
import { StoreHeldError } from '../../runtime/store/errors.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { createMarksReader } from '../chain/marks.ts';
import { type RelayerConfig, relayerOptions } from '../config.ts';
import { createPurseOf } from '../money/housekeeping.ts';
import { checkedTreasury, sweepRulesOf } from '../money/options.ts';
import { askForSweep, sweepAnswer } from '../money/requests.ts';
import { createRelayerReplica } from '../replica.ts';
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
/** What a line says of a sweep that did not happen. */
const FAILED = /: (not sent|reverted|cancelled|superseded)/;

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
  const lines = (await sweepHere(config, logger)) ?? (await askRelayer(env, say));
  if (lines === null) {
    say('the relayer that runs did not answer: it sweeps as soon as it can');
    return 1;
  }
  for (const line of lines) say(line);
  return lines.some((line) => FAILED.test(line)) ? 1 : 0;
}

/** The store, or null while another process has its file. */
async function takeStore(config: RelayerConfig): Promise<Store<StoreTables> | null> {
  const url = config.DATABASE_URL ?? DEFAULT_DATABASE_URL;
  try {
    return await openStore<StoreTables>({
      url,
      migrations: storeMigrations,
      ...(url.startsWith('file:') ? { exclusive: LEAD_NAME } : {}),
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

/** Null where another process leads, or has the file. */
async function sweepHere(config: RelayerConfig, logger: Logger): Promise<string[] | null> {
  const store = await takeStore(config);
  if (store === null) return null;
  try {
    return await sweepLeading(config, store, logger);
  } finally {
    await store.close();
  }
}

async function sweepLeading(
  config: RelayerConfig,
  store: Store<StoreTables>,
  logger: Logger,
): Promise<string[] | null> {
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
    contract: deployment.exitEscrow,
  });
  await assertChainId(client);
  await assertDeployment(client, deployment);
  const metrics = createMetrics('relayer');
  const marks = createMarksReader(client, deployment, senderSettings(config).tip);
  const replica = createRelayerReplica({
    config,
    contract: deployment.exitEscrow,
    store,
    wallets: accounts,
    treasury,
    metrics,
    logger,
    // What was accepted is the relayer's to go on with; its transactions that are out are sent again all the same.
    onLead: () => undefined,
    hooks: {},
  });
  try {
    await replica.contend();
    if (!replica.leads()) return null;
    const purse = createPurseOf({
      config,
      deployment,
      client,
      db: store.db,
      fence: replica.fence,
      sender: replica.sender,
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
    await replica.stop(DRAIN_MS);
  }
}
