/** Wires one relayer process: store, sender, relay, server; and ends it without losing what was accepted. */
import type { LocalAccount } from 'viem/accounts';
import { readDeployment } from '../contracts-abi/deployment.ts';
import { assertDeployment } from '../runtime/chain/assert-deployment.ts';
import { assertChainId, createChainClient } from '../runtime/chain/client.ts';
import { ConfigError } from '../runtime/config.ts';
import { listen } from '../runtime/http/server.ts';
import { loadWallets } from '../runtime/keys/wallets.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { ReadinessCheck } from '../runtime/readiness.ts';
import { leadReadiness } from '../runtime/replica.ts';
import { senderSettings } from '../runtime/sender/options.ts';
import type { SenderDeps } from '../runtime/sender/sender.ts';
import type { SenderTables } from '../runtime/sender/tables.ts';
import type { Sender } from '../runtime/sender/types.ts';
import { openStore } from '../runtime/store/store.ts';
import { assertModules } from './chain/assert-modules.ts';
import { findExecution } from './chain/executed.ts';
import { createMarksReader } from './chain/marks.ts';
import { readNonceState } from './chain/nonce-state.ts';
import { createSessionReader } from './chain/session.ts';
import { createSimulator } from './chain/simulator.ts';
import { recoversNatively } from './checks/recover.ts';
import { gasBudgetWei, policyOf, quarantineOf, type RelayerConfig } from './config.ts';
import { createGasBudget, type GasBudget } from './gas-budget.ts';
import { createKeyLimiter } from './key-limiter.ts';
import { createLedger } from './ledger.ts';
import { createListCheck, readLists } from './lists.ts';
import { watchRelay } from './metrics.ts';
import { createReceipts } from './receipts.ts';
import { relayErrorBody } from './refusal.ts';
import { createRelay } from './relay.ts';
import { createRelayerReplica } from './replica.ts';
import { createServer } from './server.ts';
import { createSettlement } from './settlement.ts';
import { createSlotStore } from './slot-store.ts';
import { DEFAULT_DATABASE_URL, LEAD_NAME, type StoreTables, storeMigrations } from './store.ts';
import { createStoreHealth } from './store-health.ts';
import { attemptOfIntent, type SlotId } from './slots.ts';
import { stateLine } from './trail-lines.ts';
import { createTrail } from './trail.ts';
import { createHousekeeping, type Housekeeping } from './money/housekeeping.ts';
import { checkedTreasury } from './money/options.ts';
import { createUpkeep } from './upkeep.ts';

const MAX_LIMITED_KEYS = 10_000;
/** Requests end by themselves within the wait; then the sender has a moment for what it just took. */
const CLOSE_MS = 10_000;
const DRAIN_MS = 4_000;

export type RunningRelayer = Running & {
  url: string;
  port: number;
  sender: Sender;
  money: Housekeeping;
};

export type StartOptions = Pick<SenderDeps<SenderTables>, 'onDurablePoint' | 'onFatal'>;

/**
 * @throws ConfigError for wallets that cannot be used; Error when chain, deployment and configuration do not fit.
 */
export async function startRelayer(
  config: RelayerConfig,
  logger: Logger,
  options: StartOptions = {},
): Promise<RunningRelayer> {
  const deployment = readDeployment(config.DEPLOYMENT_FILE);
  const wallets = walletsOf(config);
  const listed = createListCheck(
    readLists({
      allow: config.RELAY_ALLOW,
      deny: config.RELAY_DENY,
      file: config.RELAY_LISTS_FILE,
    }),
  );
  const receipts = createReceipts(firstOf(wallets));
  const addresses = wallets.map(({ address }) => address);
  const treasury = checkedTreasury(config, deployment, addresses);
  const client = createChainClient({
    urls: config.RPC_URLS,
    timeoutMs: config.RPC_TIMEOUT_MS,
    multicall3: deployment.multicall3,
    contract: deployment.exitEscrow,
  });
  await assertChainId(client);
  await assertModules(client, deployment);
  await assertDeployment(client, deployment);

  const metrics = createMetrics('relayer');
  const url = config.DATABASE_URL ?? DEFAULT_DATABASE_URL;
  const store = await openStore<StoreTables>({
    url,
    migrations: storeMigrations,
    ...(url.startsWith('file:') ? { exclusive: LEAD_NAME } : {}),
  });
  const replica = createRelayerReplica({
    config,
    contract: deployment.exitEscrow,
    treasury,
    store,
    wallets,
    metrics,
    logger,
    onLead: () => upkeep.takeOver(),
    hooks: options,
  });
  const { sender } = replica;
  const slots = createSlotStore(store.db);
  const budget = createGasBudget(store.db, gasBudgetWei(config));
  const ledger = createLedger(store.db, quarantineOf(config));
  const health = createStoreHealth(slots.probe);
  const limiter = createKeyLimiter({
    perMinute: config.RELAY_KEY_REQUESTS_PER_MINUTE,
    maxKeys: MAX_LIMITED_KEYS,
  });
  const marks = createMarksReader(client, deployment, senderSettings(config).tip);
  const trail = createTrail(store.db, logger.child({ module: 'trail' }));
  const unwatch = sender.onChange(({ key, state }) => {
    const attempt = attemptOfIntent(key);
    if (attempt !== null) trail.note({ digest: attempt.digest, ...stateLine(state) });
  });
  const policy = policyOf(config);
  const usedBy = (id: SlotId) => findExecution(client, deployment, id, policy.logLookback);
  const relay = createRelay({
    deployment,
    policy,
    sender,
    slots,
    limiter,
    budget,
    listed,
    ledger,
    health,
    trail,
    receipts,
    logger: logger.child({ module: 'relay' }),
    chain: {
      session: createSessionReader(client, deployment),
      marks,
      simulator: createSimulator(client, policy.maxGas),
      findExecution: usedBy,
      nonceUsed: async (id) => (await readNonceState(client, deployment, id)).used,
    },
  });
  watchRelay(metrics, {
    inFlight: relay.inFlight,
    gasSpentWei: budget.spentWei,
    gasBudgetWei: gasBudgetWei(config),
    limitedKeys: limiter.size,
    trailDropped: trail.dropped,
  });
  const quarantines = metrics.counter(
    'quarantines_total',
    'Times that a session key was kept out for what its reverts cost.',
  );
  const upkeep = createUpkeep({
    sender,
    leads: () => replica.leads(),
    slots,
    budget,
    settlement: createSettlement({
      sender,
      slots,
      ledger,
      budget,
      ethPrice: async () => (await marks.read()).ethPrice,
      onQuarantine: () => quarantines.inc(),
      logger,
    }),
    relay,
    health,
    trail,
    logger,
  });
  const money = createHousekeeping({
    config,
    deployment,
    client,
    db: store.db,
    fence: replica.fence,
    leads: () => replica.leads(),
    sender,
    wallets: addresses,
    treasury: treasury?.address ?? null,
    marks,
    metrics,
    logger,
  });
  try {
    await budget.load();
    await upkeep.start();
    await replica.contend();
    money.start();
    await marks.read();
    const app = createServer({
      logger,
      metrics,
      readiness: [
        { name: 'chain', check: marks.readiness },
        { name: 'store', check: health.readiness },
        { name: 'lead', check: () => leadReadiness('relayer', replica.status()) },
        ...senderReadiness(sender, budget, money.warning),
      ],
      http: {
        bodyLimitBytes: config.HTTP_BODY_LIMIT_BYTES,
        trustProxy: config.HTTP_TRUST_PROXY,
        requestsPerMinute: config.HTTP_REQUESTS_PER_MINUTE,
      },
      relay,
      slots,
      sender,
      receipts,
      modules: [deployment.sessionModule, deployment.coverModule],
      nonceState: (id) => readNonceState(client, deployment, id),
      usedBy: async (id) => (await usedBy(id))?.hash ?? null,
    });
    const listening = await listen(app, config.HTTP_HOST, config.RELAYER_PORT, {
      errorBody: relayErrorBody,
    });
    replica.run();
    logger.info({ url: listening.url, wallets: addresses, recoversNatively }, 'listening');
    return {
      url: listening.url,
      port: listening.port,
      sender,
      money,
      stop: async () => {
        relay.stop();
        await Promise.all([listening.close(CLOSE_MS), money.stop()]);
        await upkeep.stop();
        await replica.stop(DRAIN_MS);
        unwatch();
        await trail.stop();
        marks.stop();
        await store.close();
      },
    };
  } catch (error) {
    marks.stop();
    await money.stop();
    await upkeep.stop();
    await replica.stop(0);
    await trail.stop();
    await store.close();
    throw error;
  }
}

function walletsOf(config: RelayerConfig): LocalAccount[] {
  const loaded = loadWallets(config);
  if (loaded.tag === 'invalid') throw new ConfigError(loaded.problem);
  return loaded.wallets.map(({ account }) => account);
}

/** The wallet that signs receipts. */
function firstOf(wallets: readonly LocalAccount[]): LocalAccount {
  const [first] = wallets;
  if (first === undefined) throw new ConfigError('a relayer needs at least one wallet');
  return first;
}

function senderReadiness(
  sender: Sender,
  budget: GasBudget,
  lowOnEth: () => string | null,
): ReadinessCheck[] {
  return [
    {
      name: 'wallets',
      check: () => {
        const { wallets } = sender.status();
        if (wallets.some(({ usable }) => usable)) {
          const note = lowOnEth();
          return note === null ? { ok: true } : { ok: true, note };
        }
        const reasons = wallets.map(
          ({ address, reason }) => `${address}: ${reason ?? 'not usable'}`,
        );
        return { ok: false, reason: reasons.join('; ') };
      },
    },
    {
      name: 'gas budget',
      check: () =>
        budget.exhausted() ? { ok: false, reason: "today's gas budget is spent" } : { ok: true },
    },
  ];
}
