/** What a keeper has while it leads: from the repair of the sender's journal to the end of the last tick. */
import type { LocalAccount } from 'viem/accounts';
import type { Deployment } from '../contracts-abi/deployment.ts';
import { assertDeployment } from '../runtime/chain/assert-deployment.ts';
import { assertChainId, createChainClient } from '../runtime/chain/client.ts';
import { steadyNow } from '../runtime/clock.ts';
import { ConfigError, usdgOf } from '../runtime/config.ts';
import { inTurn } from '../runtime/in-turn.ts';
import type { Logger } from '../runtime/logger.ts';
import type { DurablePoint } from '../runtime/sender/context.ts';
import { senderSettings } from '../runtime/sender/options.ts';
import type { Sender } from '../runtime/sender/types.ts';
import { type Fence, Overtaken } from '../runtime/store/lead.ts';
import type { Store } from '../runtime/store/store.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { createRecorder, SILENT } from './backtest/recorder.ts';
import { within } from '../runtime/deadline.ts';
import { createOrderReader } from './chain/order.ts';
import { createGasExtras } from './chain/gas-extra.ts';
import { createRehearsal } from './chain/rehearse.ts';
import { createSimulator } from './chain/simulate.ts';
import { createWorldView, watchHead, type WorldView } from './chain/world.ts';
import type { KeeperConfig } from './config.ts';
import type { KeeperContext } from './context.ts';
import { Discovery } from './discovery/discovery.ts';
import { createListings } from './discovery/plug.ts';
import type { Distrust } from './distrust.ts';
import type { DryRun } from './dry-run.ts';
import { createDutyBudget } from './duty-budget.ts';
import { readKnownProtocol, type ForeignContracts } from './firewall/known-protocol.ts';
import { createForeignGuard } from './foreign-guard.ts';
import { createJournal } from './journal/journal.ts';
import type { StoreTables } from './journal/migrations.ts';
import { createHousekeeping, type Housekeeping } from './housekeeping/housekeeping.ts';
import { type Loop, startLoop } from './loop.ts';
import { createMemories } from './memory.ts';
import type { KeeperMetrics } from './metrics.ts';
import { settleAttempts } from './outcome.ts';
import { createBatchGas } from './policy/batch-gas.ts';
import { PATIENCE_RULES } from './policy/patience.ts';
import { policyOf } from './rules.ts';
import { createSource } from './source/job-source.ts';
import { watchJobs } from './source/watch.ts';
import { startSender } from './start-sender.ts';
import { createTicker, type Protocol, type Ticker } from './tick.ts';
import { keepWarm } from './warm-up.ts';

const MAX_ANSWER_BYTES = 4_000_000;
const MEMORY_CAPACITY = 10_000;
const REGISTRY_EVERY_MS = 60_000;
const SUBMIT_TIMEOUT_MS = 5_000;
const QUIET_MS = 2_000;
/** What is under way is looked at again after so long at the latest. */
const UNDER_WAY_MS = 1_000;
/** Of what is read when jobs become due. */
const FRESH_WORLD_MS = 400;

/** What outlasts a term: a process that leads again begins with these. */
export type Standing = {
  config: KeeperConfig;
  deployment: Deployment;
  foreign: ForeignContracts;
  /** The first receives every executor fee. */
  accounts: readonly LocalAccount[];
  store: Store<StoreTables>;
  logger: Logger;
  metrics: Metrics;
  keeperMetrics: KeeperMetrics;
  distrust: Distrust;
  /** Null: it sends. */
  dry: DryRun | null;
  onDurablePoint: ((point: DurablePoint) => void) | null;
};

export type Term = {
  startedMs: number;
  context: KeeperContext;
  sender: Sender;
  world: WorldView;
  ticker: Ticker;
  fence: Fence;
  housekeeping: Housekeeping;
  /** Ticks, and keeps house by the clock, until the end. */
  run(): void;
  /** Ends the pause between two ticks. */
  nudge(): void;
  /** Waits until every transaction sent has an outcome on chain, at most `ms`; false when some have none yet. */
  settle(ms: number): Promise<boolean>;
  /** Ticks no more, lets the sender drain for `drainMs`, and records what came to an end meanwhile. */
  end(drainMs: number): Promise<void>;
};

/**
 * Reads the registry, repairs the sender's journal, and is ready to tick.
 * @param onFatal told when the sender has stopped for good: the lead is lost, or the journal is another's
 * @throws when the chain or the store is not usable, saying which
 */
export async function startTerm(
  standing: Standing,
  fence: Fence,
  onFatal: (error: unknown) => void,
): Promise<Term> {
  const { config, deployment, store, logger, distrust } = standing;
  const client = createChainClient({
    urls: config.RPC_URLS,
    timeoutMs: config.RPC_TIMEOUT_MS,
    multicall3: deployment.multicall3,
    contract: deployment.exitEscrow,
    logger: logger.child({ module: 'chain' }),
  });
  await assertChainId(client);
  await assertDeployment(client, deployment);
  const protocol = await followProtocol(client, standing);
  const sender = await startSender(standing, fence, onFatal);
  const context = contextOf(standing, { client, sender, fence });
  const world = createWorldView({
    client,
    oracle: deployment.oracle,
    tipWei: senderSettings(config).tip,
    timeoutMs: config.RPC_TIMEOUT_MS,
    now: steadyNow,
  });
  const discovery = new Discovery({
    client,
    deployment,
    db: store.db,
    keeps: standing.dry === null,
    logger: context.logger,
    source: config.API_URLS.length,
    everyMs: config.KEEPER_DISCOVERY_MS,
    now: steadyNow,
  });
  const recorder =
    standing.dry === null
      ? createRecorder({
          config,
          executor: context.executor,
          world,
          db: store.db,
          logger: context.logger,
          now: steadyNow,
        })
      : SILENT;
  const reading = {
    timeoutMs: config.KEEPER_SOURCE_TIMEOUT_MS,
    maxBytes: MAX_ANSWER_BYTES,
    maxJobs: config.KEEPER_MAX_JOBS,
  };
  const listings = createListings({
    sources: config.API_URLS.map((url, source) => createSource(url, source, reading)),
    isDropped: (source) => distrust.isDropped(source),
    discovery,
    mode: config.KEEPER_DISCOVERY,
    chainTime: () => {
      const head = world.status().world;
      return head === null ? null : Number(head.timestamp);
    },
    now: steadyNow,
  });
  /** Sources that say by themselves when more comes due. */
  const watched = new Set<number>();
  const ticking = createTicker({
    context,
    world,
    protocol,
    poll: recorder.poll((signal) => listings.poll(signal)),
    distrust,
    isWatched: (source) => watched.has(source),
    concurrency: config.KEEPER_CONCURRENCY,
  });
  const ticker = recorder.ticker(ticking);
  const ethPrice = (): bigint | null => world.status().world?.market.ethPrice ?? null;
  let loop: Loop | null = null;
  const watching = new AbortController();
  let unwatch: (() => void) | null = null;
  const nudge = (): void => loop?.nudge();
  const housekeeping = createHousekeeping({
    config,
    context,
    client,
    deployment,
    db: store.db,
    fence,
    world,
    wallets: standing.accounts.map(({ address }) => address),
    nudge,
  });
  return {
    housekeeping,
    nudge,
    startedMs: steadyNow(),
    context,
    sender,
    world,
    ticker,
    fence,
    run: () => {
      housekeeping.start();
      keepWarm(() => protocol.known(), watching.signal).catch((err: unknown) => {
        // Never expected, and no reason to end: it only makes the next burst slower.
        context.logger.error({ err }, 'the code is not kept warm any more');
      });
      unwatch ??= watchHead(world);
      const look = (): void => {
        // The tick will ask for it, and its own question would wait behind what it finds.
        void world.read(FRESH_WORLD_MS);
        void sender.freshen();
        nudge();
      };
      for (const [source, url] of config.API_URLS.entries()) {
        const isDropped = (): boolean => distrust.isDropped(source);
        void watchJobs(
          {
            url,
            timeoutMs: reading.timeoutMs,
            isDropped,
            onChange: look,
            onLive: (isLive) => void (isLive ? watched.add(source) : watched.delete(source)),
          },
          watching.signal,
        );
      }
      loop ??= startLoop({
        intervalMs: () =>
          ticker.hasAllUnderWay()
            ? Math.max(config.KEEPER_POLL_MS, UNDER_WAY_MS)
            : config.KEEPER_POLL_MS,
        tick: (signal) => ticker.tick(signal),
        onError: (err) => {
          context.metrics.ticks.inc({ result: 'failed' });
          // Expected where the lead was lost within the tick: who keeps the lead says so.
          if (!(err instanceof Overtaken)) logger.error({ err }, 'a tick failed');
        },
      });
    },
    settle: (ms) => settleWithin(context, sender, ethPrice, ms),
    end: async (drainMs) => {
      const quiet = housekeeping.stop();
      unwatch?.();
      watching.abort();
      await loop?.stop();
      // Aborted with the loop; what the chain does not answer even so is not waited for.
      await within(listings.quiet(), QUIET_MS, 'the sources').catch(() => undefined);
      await sender.stop(fence.holds() ? drainMs : 0);
      // Only now: what it waited for, it waited for from the sender.
      await quiet;
      // What came to an end while draining belongs in the journal now, not at the next start.
      if (fence.holds()) {
        const endsAt = steadyNow() + QUIET_MS;
        await settleAttempts(context, ethPrice(), () => steadyNow() > endsAt);
      }
      await recorder.finish();
    },
  };
}

/** The registry as last read; read again when a job names a vault that is not known. */
async function followProtocol(
  client: ReturnType<typeof createChainClient>,
  { deployment, foreign, logger }: Standing,
): Promise<Protocol> {
  let known = await readKnownProtocol(client, deployment, foreign);
  let knownMs = steadyNow();
  return {
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
  };
}

function contextOf(
  standing: Standing,
  parts: { client: ReturnType<typeof createChainClient>; sender: Sender; fence: Fence },
): KeeperContext {
  const { config, deployment, store, distrust } = standing;
  const { client, sender, fence } = parts;
  const [executor] = standing.accounts;
  if (executor === undefined) throw new ConfigError('no wallet');
  const journal = standing.dry?.journal ?? createJournal(store.db, steadyNow, fence);
  const keeperLogger = standing.logger.child({ module: 'keeper' });
  const policy = policyOf(config);
  const distrusts = (source: number, what: string): void => distrust.strike(source, what);
  return {
    logger: keeperLogger,
    metrics: standing.keeperMetrics,
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
      extras: createGasExtras({ now: steadyNow }),
      mostTogether: policy.batchMax,
      atOnce: config.KEEPER_CONCURRENCY,
    }),
    rehearse: createRehearsal({
      client,
      usdg: deployment.usdg,
      tipWei: senderSettings(config).tip,
      timeoutMs: config.RPC_TIMEOUT_MS,
    }),
    orders: createOrderReader(client, config.RPC_TIMEOUT_MS),
    ...policy,
    patience: PATIENCE_RULES,
    executor: executor.address,
    dutyBudget: createDutyBudget({
      budgetUsdg: usdgOf(config.KEEPER_DUTY_BUDGET_USDG),
      journal,
      metrics: standing.keeperMetrics,
      logger: keeperLogger,
      now: steadyNow,
    }),
    dutyTurn: inTurn(),
    batchGas: createBatchGas(),
    foreign: createForeignGuard({
      journal,
      rules: policy.breaker,
      distrust: distrusts,
      metrics: standing.keeperMetrics,
      logger: keeperLogger,
      now: steadyNow,
    }),
    usdg: deployment.usdg,
    multicall3: deployment.multicall3,
    distrust: distrusts,
    dryRun: standing.dry !== null,
    ...(standing.dry === null ? {} : { wouldEarn: standing.dry.wouldEarn }),
    submitTimeoutMs: SUBMIT_TIMEOUT_MS,
    now: steadyNow,
  };
}

async function settleWithin(
  context: KeeperContext,
  sender: Sender,
  ethPrice: () => bigint | null,
  ms: number,
): Promise<boolean> {
  const until = steadyNow() + ms;
  for (;;) {
    await settleAttempts(context, ethPrice(), () => steadyNow() > until);
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
}
