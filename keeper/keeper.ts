/** Assembles one keeper from its settings: what `main.ts` runs and what the chain tests drive. */
import { CHAIN_ID } from '../contracts-abi/constants.ts';
import { type Deployment, readDeployment } from '../contracts-abi/deployment.ts';
import { assertChainId, createChainClient } from '../runtime/chain/client.ts';
import { steadyNow } from '../runtime/clock.ts';
import { ConfigError } from '../runtime/config.ts';
import { createHttpApp, type Listening, listen } from '../runtime/http/server.ts';
import { loadWallets } from '../runtime/keys/wallets.ts';
import { endProcess } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { DurablePoint } from '../runtime/sender/context.ts';
import { senderSettings } from '../runtime/sender/options.ts';
import { createSender } from '../runtime/sender/sender.ts';
import type { Sender } from '../runtime/sender/types.ts';
import { openStore } from '../runtime/store/store.ts';
import { createOrderReader } from './chain/order.ts';
import { createSimulator } from './chain/simulate.ts';
import { createWorldView } from './chain/world.ts';
import { DEFAULT_DATABASE_URL, type KeeperConfig, usdgOf } from './config.ts';
import type { KeeperContext } from './context.ts';
import { createDistrust } from './distrust.ts';
import { readAllowList } from './firewall/foreign.ts';
import {
  type ForeignContracts,
  type KnownProtocol,
  readKnownProtocol,
} from './firewall/known-protocol.ts';
import { createJournal, type Journal } from './journal/journal.ts';
import { type StoreTables, storeMigrations } from './journal/migrations.ts';
import { startLoop } from './loop.ts';
import { createMemories } from './memory.ts';
import { createKeeperMetrics } from './metrics.ts';
import { settleAttempts } from './outcome.ts';
import { PATIENCE_RULES } from './policy/patience.ts';
import { keeperChecks } from './readiness.ts';
import { pollSources } from './source/job-source.ts';
import { createTicker, type TickStatus } from './tick.ts';

const MAX_ANSWER_BYTES = 4_000_000;
const MEMORY_CAPACITY = 10_000;
const REGISTRY_EVERY_MS = 60_000;
const SUBMIT_TIMEOUT_MS = 5_000;
/** A full answer of simulations that all run into their deadlines ends well within this. */
const TICK_MAX_AGE_MS = 60_000;
const SOURCE_MAX_AGE_MS = 30_000;
const CLOSE_MS = 2_000;

export type Keeper = {
  /** One tick, outside the loop: `once`, `--dry-run` and tests. */
  tick(): Promise<void>;
  /** Ticks until stopped. */
  run(): void;
  /** Waits until every transaction sent has an outcome on chain, at most `ms`; false when some have none yet. */
  settle(ms: number): Promise<boolean>;
  status(): TickStatus;
  journal: Journal;
  sender: Sender;
  executor: `0x${string}`;
  /** Null until `serve` was called. */
  url: string | null;
  stop(): Promise<void>;
};

export type KeeperMode = {
  dryRun: boolean;
  /** Whether `/health`, `/ready` and `/metrics` are served. */
  serve: boolean;
  /** Told of each durable point of the sender: the kill tests end the process there. */
  onDurablePoint?: (point: DurablePoint) => void;
  /** Told when the sender must stop for good; default: the process ends. */
  onFatal?: (error: unknown) => void;
};

/**
 * Opens the store, repairs the sender's journal, reads the registry, and is ready to tick.
 * @throws when the chain, the store, the deployment file or the wallets are not usable, saying which
 */
export async function createKeeper(
  config: KeeperConfig,
  logger: Logger,
  mode: KeeperMode,
): Promise<Keeper> {
  const loaded = loadWallets(config);
  if (loaded.tag === 'invalid') throw new ConfigError(loaded.problem);
  const accounts = loaded.wallets.map(({ account }) => account);
  const executor = accounts[0]?.address;
  if (executor === undefined) throw new ConfigError('no wallet');

  const deployment = readDeployment(config.DEPLOYMENT_FILE);
  const foreign = foreignContracts(config, deployment);
  const client = createChainClient({
    urls: config.RPC_URLS,
    timeoutMs: config.RPC_TIMEOUT_MS,
    multicall3: deployment.multicall3,
  });
  await assertChainId(client);
  let known: KnownProtocol = await readKnownProtocol(client, deployment, foreign);
  let knownMs = steadyNow();

  const store = await openStore<StoreTables>({
    url: config.DATABASE_URL ?? DEFAULT_DATABASE_URL,
    migrations: storeMigrations,
    exclusive: 'keeper-sender',
  });
  let listening: Listening | null = null;
  let sender: Sender | null = null;
  try {
    const metrics = createMetrics('keeper');
    sender = createSender({
      rpc: { urls: config.RPC_URLS, timeoutMs: config.RPC_TIMEOUT_MS },
      chainId: CHAIN_ID,
      wallets: accounts,
      store,
      settings: senderSettings(config),
      logger,
      registry: metrics.registry,
      metricsPrefix: 'basket_keeper',
      // A sender that has stopped would leave a process that looks well and never sends again.
      onFatal: mode.onFatal ?? endProcess,
      ...(mode.onDurablePoint === undefined ? {} : { onDurablePoint: mode.onDurablePoint }),
    });
    await sender.start();

    const journal = createJournal(store.db, steadyNow);
    const keeperMetrics = createKeeperMetrics(metrics);
    const keeperLogger = logger.child({ module: 'keeper' });
    const distrust = createDistrust({
      logger: keeperLogger,
      metrics: keeperMetrics,
      now: steadyNow,
    });
    const context: KeeperContext = {
      logger: keeperLogger,
      metrics: keeperMetrics,
      journal,
      memories: createMemories({
        journal,
        rules: PATIENCE_RULES,
        capacity: MEMORY_CAPACITY,
        now: steadyNow,
      }),
      sender,
      simulator: createSimulator({
        client,
        usdg: deployment.usdg,
        multicall3: deployment.multicall3,
        timeoutMs: config.RPC_TIMEOUT_MS,
      }),
      orders: createOrderReader(client, config.RPC_TIMEOUT_MS),
      rules: {
        minProfitUsdg: usdgOf(config.KEEPER_MIN_PROFIT_USDG),
        marginBps: BigInt(config.KEEPER_MARGIN_PERCENT) * 100n,
        gasPriceHeadroomBps: BigInt(config.KEEPER_GAS_PRICE_HEADROOM_PERCENT) * 100n,
        feeToleranceBps: BigInt(config.KEEPER_FEE_TOLERANCE_BPS),
        gasLimitHeadroomBps: BigInt(config.SENDER_GAS_HEADROOM_PERCENT) * 100n,
      },
      patience: PATIENCE_RULES,
      executor,
      arming: config.KEEPER_ARM,
      dutyBudgetUsdg: usdgOf(config.KEEPER_DUTY_BUDGET_USDG),
      dutyTurn: inTurn(),
      usdg: deployment.usdg,
      multicall3: deployment.multicall3,
      batchMax: config.KEEPER_BATCH_MAX,
      distrust: (source, what) => distrust.strike(source, what),
      dryRun: mode.dryRun,
      submitTimeoutMs: SUBMIT_TIMEOUT_MS,
      now: steadyNow,
    };
    const world = createWorldView({
      client,
      oracle: deployment.oracle,
      tipWei: senderSettings(config).tip,
      timeoutMs: config.RPC_TIMEOUT_MS,
      now: steadyNow,
    });
    const ticker = createTicker({
      context,
      world,
      protocol: {
        known: () => known,
        refresh: async () => {
          if (steadyNow() - knownMs < REGISTRY_EVERY_MS) return;
          knownMs = steadyNow();
          try {
            known = await readKnownProtocol(client, deployment, foreign);
          } catch (err) {
            // Expected: the chain is out of reach; what was known still holds.
            logger.warn({ err }, 'the registry could not be read again');
          }
        },
      },
      poll: (signal) =>
        pollSources(
          {
            urls: config.API_URLS,
            timeoutMs: config.KEEPER_SOURCE_TIMEOUT_MS,
            maxBytes: MAX_ANSWER_BYTES,
            maxJobs: config.KEEPER_MAX_JOBS,
          },
          signal,
          (source) => distrust.isDropped(source),
        ),
      distrust,
      concurrency: config.KEEPER_CONCURRENCY,
    });

    if (mode.serve) {
      const http = createHttpApp({
        logger: logger.child({ module: 'http' }),
        metrics,
        readiness: keeperChecks({
          tick: () => ticker.status(),
          world,
          now: steadyNow,
          sender: sender.status.bind(sender),
          limits: {
            tickMs: TICK_MAX_AGE_MS + config.KEEPER_POLL_MS,
            sourceMs: SOURCE_MAX_AGE_MS + config.KEEPER_POLL_MS,
            headMs: config.KEEPER_HEAD_MAX_AGE_MS,
          },
        }),
        bodyLimitBytes: 1_024,
        trustProxy: config.HTTP_TRUST_PROXY,
        requestsPerMinute: config.HTTP_REQUESTS_PER_MINUTE,
      });
      http.finish();
      listening = await listen(http.app, config.HTTP_HOST, config.KEEPER_PORT);
    }
    const ethPrice = (): bigint | null => world.status().world?.market.ethPrice ?? null;
    return assembled({ context, ticker, ethPrice, listening, sender, store, config, logger });
  } catch (error) {
    await listening?.close(0);
    await sender?.stop(0);
    await store.close();
    throw error;
  }
}

/** Runs what it is given one at a time, in order. */
function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    const mine = last.then(work, work);
    last = mine.catch(() => undefined);
    return await mine;
  };
}

/** What the operator lets run beside our own protocol. @throws ConfigError */
function foreignContracts(config: KeeperConfig, deployment: Deployment): ForeignContracts {
  const { KEEPER_ALLOW_LIST_FILE: path } = config;
  if (path === undefined) return new Map();
  try {
    return readAllowList(path, deployment);
  } catch (error) {
    throw new ConfigError(`KEEPER_ALLOW_LIST_FILE: ${(error as Error).message}`);
  }
}

function assembled(parts: {
  context: KeeperContext;
  ticker: ReturnType<typeof createTicker>;
  ethPrice: () => bigint | null;
  listening: Listening | null;
  sender: Sender;
  store: { close(): Promise<void> };
  config: KeeperConfig;
  logger: Logger;
}): Keeper {
  const { context, ticker, ethPrice, listening, sender, store, config, logger } = parts;
  const outside = new AbortController();
  let loop: ReturnType<typeof startLoop> | null = null;
  return {
    tick: () => ticker.tick(outside.signal),
    run: () => {
      loop ??= startLoop({
        intervalMs: config.KEEPER_POLL_MS,
        tick: (signal) => ticker.tick(signal),
        onError: (err) => {
          context.metrics.ticks.inc({ result: 'failed' });
          logger.error({ err }, 'a tick failed');
        },
      });
    },
    async settle(ms) {
      const until = steadyNow() + ms;
      for (;;) {
        await settleAttempts(context, ethPrice());
        const open = await context.journal.unsettled(200);
        const waiting = open.filter(({ outcome }) => outcome !== 'mined' && outcome !== 'reverted');
        if (waiting.length === 0) return true;
        const left = until - steadyNow();
        const [first] = waiting;
        if (left <= 0 || first === undefined) return false;
        // One of them at a time: each wait is the sender's own, on its own poll.
        const carried = first.carrier?.key ?? first.intentKey;
        if ((await sender.wait(carried, 'settled', left)) === null) return false;
      }
    },
    status: () => ticker.status(),
    journal: context.journal,
    sender,
    executor: context.executor,
    url: listening?.url ?? null,
    stop: async () => {
      outside.abort();
      await loop?.stop();
      await sender.stop(config.KEEPER_DRAIN_MS);
      // What came to an end while draining belongs in the journal now, not at the next start.
      await settleAttempts(context, ethPrice());
      await listening?.close(CLOSE_MS);
      await store.close();
    },
  };
}
