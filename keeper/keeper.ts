/** Assembles one keeper from its settings: what `main.ts` runs and what the chain tests drive. */
import type { Address } from 'viem';
import { type Deployment, readDeployment } from '../contracts-abi/deployment.ts';
import { steadyNow } from '../runtime/clock.ts';
import { ConfigError } from '../runtime/config.ts';
import { createHttpApp, type Listening, listen } from '../runtime/http/server.ts';
import { loadWallets } from '../runtime/keys/wallets.ts';
import { endProcess } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics, type Metrics } from '../runtime/metrics.ts';
import type { DurablePoint } from '../runtime/sender/context.ts';
import { createReplica } from '../runtime/replica.ts';
import { StoreError } from '../runtime/store/errors.ts';
import { createLead, unfenced } from '../runtime/store/lead.ts';
import { alone, contend } from '../runtime/store/leadership.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import { HEAD_READ_MAX_AGE_MS } from './chain/world.ts';
import { DEFAULT_DATABASE_URL, type KeeperConfig, LEAD_NAME } from './config.ts';
import { createDistrust } from './distrust.ts';
import { createDryReplica, type DryRun, type KeeperReplica } from './dry-run.ts';
import { readAllowList } from './firewall/foreign.ts';
import type { ForeignContracts } from './firewall/known-protocol.ts';
import type { HousekeepingJob } from './housekeeping/housekeeping.ts';
import { createDryJournal } from './journal/dry-journal.ts';
import { createJournal, type Journal } from './journal/journal.ts';
import { type StoreTables, storeMigrations } from './journal/migrations.ts';
import { createKeeperMetrics } from './metrics.ts';
import { sweepProblem } from '../runtime/money/sweep.ts';
import { keeperChecks } from './readiness.ts';
import { type Standing, startTerm, type Term } from './term.ts';
import type { TickStatus } from './tick.ts';

/** A full answer of simulations that all run into their deadlines ends well within this. */
const TICK_MAX_AGE_MS = 60_000;
const SOURCE_MAX_AGE_MS = 30_000;
const CLOSE_MS = 2_000;

export type Keeper = {
  /** One tick, outside the loop: `once`, `--dry-run` and tests. @throws StoreError while it stands by */
  tick(): Promise<void>;
  /** Ticks while it leads and stands by for the lead otherwise, until stopped. */
  run(): void;
  /** Waits until every transaction sent has an outcome on chain, at most `ms`; false when some have none yet. */
  settle(ms: number): Promise<boolean>;
  /** Does a job of housekeeping now. @throws what it throws; StoreError while it stands by */
  housekeep(job: HousekeepingJob): Promise<void>;
  /** Looks for jobs now, whatever is left of the pause between two ticks. */
  nudge(): void;
  /** Whether it leads; always, where it has its journal for itself. */
  leads(): boolean;
  /** Of the ticks since it leads. */
  status(): TickStatus;
  /** To read from. */
  journal: Journal;
  executor: `0x${string}`;
  /** Null unless it serves. */
  url: string | null;
  stop(): Promise<void>;
};

export type KeeperMode = {
  /** Sends nothing and writes nothing: it may run beside a keeper on the same store. */
  dryRun: boolean;
  /** Told what each transaction that a dry run does not send would have left after its gas, USDG base units. */
  wouldEarn?: (profitUsdg: bigint) => void;
  /**
   * Whether `/health`, `/ready` and `/metrics` are served; such a keeper stands by where another one leads on the same
   * PostgreSQL database, any other refuses to start there.
   */
  serve: boolean;
  /** Told of each durable point of the sender: the kill tests end the process there. */
  onDurablePoint?: (point: DurablePoint) => void;
  /** Told when the sender of a keeper without replicas must stop for good; default: the process ends. */
  onFatal?: (error: unknown) => void;
};

/**
 * Opens the store and takes the lead where nobody has it: repairs the sender's journal, reads the registry, and is
 * ready to tick. Where another keeper leads on the same PostgreSQL database it asks the chain for nothing until it
 * takes over.
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
  checkSweepTo(config, deployment, accounts);

  const store = await openJournal(config, mode.dryRun);
  const dry: DryRun | null = mode.dryRun
    ? {
        journal: createDryJournal(store.db, steadyNow),
        wouldEarn: mode.wouldEarn ?? (() => undefined),
      }
    : null;
  const metrics = createMetrics('keeper');
  const keeperMetrics = createKeeperMetrics(metrics);
  const distrust = createDistrust({
    logger: logger.child({ module: 'keeper' }),
    metrics: keeperMetrics,
    now: steadyNow,
    own: config.API_URLS.length,
  });
  let running = false;
  const replica = createKeeperReplica(
    {
      config,
      deployment,
      foreign,
      accounts,
      store,
      logger,
      metrics,
      keeperMetrics,
      distrust,
      dry,
      onDurablePoint: mode.onDurablePoint ?? null,
    },
    mode,
    (term) => {
      if (running) term.run();
    },
  );
  let listening: Listening | null = null;
  const leading = (): Term => {
    const term = replica.term();
    if (term === null) throw new StoreError(STANDS_BY);
    return term;
  };
  try {
    await replica.contend();
    if (mode.serve) listening = await serve(config, logger, metrics, replica);
    else leading();
  } catch (error) {
    await listening?.close(0);
    await replica.stop(0);
    await store.close();
    throw error;
  }
  const outside = new AbortController();
  return {
    tick: () => leading().ticker.tick(outside.signal),
    run: () => {
      running = true;
      replica.term()?.run();
      // A SQLite file has no replicas.
      if (store.dialect === 'postgres' && dry === null) replica.run();
    },
    settle: (ms) => leading().settle(ms),
    housekeep: (job) => leading().housekeeping.runNow(job),
    nudge: () => replica.term()?.nudge(),
    leads: () => replica.term() !== null,
    status: () => replica.term()?.ticker.status() ?? NO_TICK,
    journal: dry?.journal ?? createJournal(store.db, steadyNow),
    executor,
    url: listening?.url ?? null,
    stop: async () => {
      outside.abort();
      await replica.stop(config.KEEPER_DRAIN_MS);
      await listening?.close(CLOSE_MS);
      await store.close();
    },
  };
}

const NO_TICK: TickStatus = {
  lastTickMs: null,
  sourceOkMs: null,
  sourceFault: null,
  storeFault: null,
  coverWaits: null,
};

const STANDS_BY =
  'another keeper leads on this PostgreSQL database, and only one may send from its wallets: stop that one first, or start this one with `npm run keeper`, which stands by and takes over';

/** On SQLite the file is locked for this process; on PostgreSQL the lead decides who writes. A dry run only reads. */
async function openJournal(config: KeeperConfig, readOnly: boolean): Promise<Store<StoreTables>> {
  const url = config.DATABASE_URL ?? DEFAULT_DATABASE_URL;
  if (readOnly) return await openStore<StoreTables>({ url, migrations: storeMigrations, readOnly });
  return await openStore<StoreTables>({
    url,
    migrations: storeMigrations,
    ...(url.startsWith('file:') ? { exclusive: LEAD_NAME } : {}),
  });
}

function createKeeperReplica(
  standing: Standing,
  mode: KeeperMode,
  onBegin: (term: Term) => void,
): KeeperReplica {
  const { store, config, keeperMetrics } = standing;
  if (standing.dry !== null) {
    return createDryReplica({
      begin: () => startTerm(standing, unfenced, () => undefined),
      onBegin,
    });
  }
  const hasReplicas = store.dialect === 'postgres';
  const leadership = hasReplicas
    ? contend(config.DATABASE_URL ?? '', LEAD_NAME, () => replica.nudge())
    : alone;
  const replica = createReplica<Term>({
    process: 'keeper',
    lead: createLead({ store, leadership, name: LEAD_NAME }),
    begin: (fence, onFatal) =>
      // Without replicas a sender that has stopped would leave a process that looks well and never sends again.
      startTerm(standing, fence, hasReplicas ? onFatal : (mode.onFatal ?? endProcess)),
    onBegin,
    onStatus: ({ tag }) => keeperMetrics.leader.set(tag === 'leads' ? 1 : 0),
    logger: standing.logger.child({ module: 'replica' }),
  });
  return replica;
}

async function serve(
  config: KeeperConfig,
  logger: Logger,
  metrics: Metrics,
  replica: KeeperReplica,
): Promise<Listening> {
  const http = createHttpApp({
    logger: logger.child({ module: 'http' }),
    metrics,
    readiness: keeperChecks({
      replica: () => replica.status(),
      leading: () => {
        const term = replica.term();
        if (term === null) return null;
        return {
          sinceMs: term.startedMs,
          tick: term.ticker.status(),
          world: term.world.status(),
          sender: term.sender.status(),
          low: term.housekeeping.warning(),
          duties: term.context.dutyBudget.warning(),
        };
      },
      now: steadyNow,
      limits: {
        tickMs: TICK_MAX_AGE_MS + config.KEEPER_POLL_MS,
        sourceMs: SOURCE_MAX_AGE_MS + config.KEEPER_POLL_MS,
        silentMs: HEAD_READ_MAX_AGE_MS,
        headMs: config.KEEPER_HEAD_MAX_AGE_MS,
      },
    }),
    bodyLimitBytes: 1_024,
    trustProxy: config.HTTP_TRUST_PROXY,
    requestsPerMinute: config.HTTP_REQUESTS_PER_MINUTE,
  });
  http.finish();
  return await listen(http.app, config.HTTP_HOST, config.KEEPER_PORT);
}

/** @throws ConfigError for an address from which swept USDG would not come back to its owner */
function checkSweepTo(
  { KEEPER_SWEEP_TO: to }: KeeperConfig,
  deployment: Deployment,
  wallets: readonly { address: Address }[],
): void {
  if (to === undefined) return;
  const problem = sweepProblem(
    to,
    deployment,
    wallets.map(({ address }) => address),
  );
  if (problem !== null) throw new ConfigError(`KEEPER_SWEEP_TO is ${to}: ${problem}`);
}

/** What the operator lets run beside our own protocol. @throws ConfigError */
export function foreignContracts(config: KeeperConfig, deployment: Deployment): ForeignContracts {
  const { KEEPER_ALLOW_LIST_FILE: path } = config;
  if (path === undefined) return new Map();
  try {
    return readAllowList(path, deployment);
  } catch (error) {
    throw new ConfigError(`KEEPER_ALLOW_LIST_FILE: ${(error as Error).message}`);
  }
}
