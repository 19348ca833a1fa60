/** Wires the api: store, chain client, background loops, HTTP. Tests start it the same way as the process does. */
import { readDeployment } from '../contracts-abi/deployment.ts';
import { createChainClient } from '../runtime/chain/client.ts';
import { listen } from '../runtime/http/server.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { within } from '../runtime/deadline.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { ReadinessCheck, ReadinessResult } from '../runtime/readiness.ts';
import { alone, contend } from '../runtime/store/leadership.ts';
import { openStore } from '../runtime/store/store.ts';
import { AccountBooks } from './accounting/account-books.ts';
import { Ledger } from './accounting/ledger.ts';
import { LedgerTail } from './accounting/ledger-tail.ts';
import { APPROVE_PATH } from './approval/approve-page.ts';
import { RecentBalances } from './builds/recent-balances.ts';
import { NewestBlock } from './chain/newest-block.ts';
import { repeat } from './chain/repeat.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { ApiConfig } from './config.ts';
import { CoverIndex } from './cover/cover-index.ts';
import { UnpaidPositions } from './cover/payouts-unpaid.ts';
import { WeekendHistory } from './cover/weekends.ts';
import { CoverCalendar } from './cover/weeks.ts';
import { bulkLogs, HELD_FROM } from './indexer/bulk-logs.ts';
import { Indexer } from './indexer/indexer.ts';
import { IndexLead } from './indexer/lead.ts';
import { MOST_AHEAD } from './indexer/overlap.ts';
import { LogReader } from '../runtime/chain/log-reader.ts';
import { apiProjections, indexIdentity } from './indexer/projections.ts';
import { gatherStatistics } from './indexer/statistics.ts';
import { VaultSet } from './indexer/vault-set.ts';
import { DueIndex } from './jobs/due-index.ts';
import { News } from './jobs/news.ts';
import { Marks } from './marks/marks.ts';
import { NavHistory } from './nav/nav-history.ts';
import { NavIndex } from './nav/nav-index.ts';
import { OrderIndex } from './orders/order-index.ts';
import { createApiApp } from './server.ts';
import type { Service } from './service.ts';
import { AccountAddresses } from './session/accounts.ts';
import { NonceLanes } from './session/nonces.ts';
import { type ApiTables, apiMigrations } from './tables.ts';

const EXECUTE_ROUTE = '/relay/v1/account/execute';
const COVER_ROUTE = '/relay/v1/account/cover';
const HTTP_CLOSE_MS = 5_000;
const RUN_ENDS_MS = 5_000;
/** A node that lags no further than this is answered from what is kept of an owner. */
const KEPT_BELOW_BLOCKS = 1_000;

export type RunningApi = Running & { url: string; port: number };

/** @throws when the deployment file, the store or the port is not usable; the chain may come later. */
export async function startApi(config: ApiConfig, logger: Logger): Promise<RunningApi> {
  const deployment = readDeployment(config.DEPLOYMENT_FILE);
  const metrics = createMetrics('api');
  const client = createChainClient({
    urls: config.RPC_URLS,
    timeoutMs: config.RPC_TIMEOUT_MS,
    multicall3: deployment.multicall3,
    contract: deployment.exitEscrow,
    logger: logger.child({ module: 'chain' }),
    heldFrom: HELD_FROM,
  });
  const databaseUrl = config.DATABASE_URL ?? 'file:.data/api.sqlite';
  const store = await openStore<ApiTables>({ url: databaseUrl, migrations: apiMigrations });
  const lead = new IndexLead({
    store,
    leadership: store.dialect === 'postgres' ? contend(databaseUrl, 'api-indexer') : alone,
    logger: logger.child({ module: 'indexer' }),
  });
  const navIndex = new NavIndex({
    db: store.db,
    write: lead.write,
    checkpoints: store.db,
    client,
    deployment,
    reader: new LogReader({ client, logger, maxRange: config.INDEX_MAX_RANGE }),
    logger: logger.child({ module: 'nav' }),
  });
  const navs = new NavHistory(store.db, navIndex);
  const waiting = metrics.gauge('jobs_waiting', 'Clients that wait at /v1/jobs/changes.');
  const news = new News((count) => waiting.set(count));
  const marks = new Marks({
    onRead: () => news.tell(),
    client,
    deployment,
    navAt: async (vault, time) => (indexer.caughtUp ? await navs.navAt(vault, time) : null),
    logger: logger.child({ module: 'marks' }),
    metrics,
    intervalMs: config.MARKS_INTERVAL_MS,
    costIntervalMs: config.COST_INTERVAL_MS,
    catalogIntervalMs: config.CATALOG_INTERVAL_MS,
    staleAfterMs: config.MARKS_STALE_AFTER_MS,
    answerWithinMs: config.READ_BUDGET_MS,
  });
  const lag = metrics.gauge('index_lag_blocks', 'Blocks that the order index is behind the head.');
  const leading = metrics.gauge(
    'index_leader',
    '1 while this process reads the chain into the store; 0 while it serves what another one writes.',
  );
  const head = metrics.gauge('head_block', 'Newest block that a node has shown.');
  const newest = new NewestBlock(3 * config.INDEX_INTERVAL_MS);
  const indexer = new Indexer<ApiTables>({
    client,
    db: store.db,
    write: lead.write,
    projections: [navIndex.projection(), ...apiProjections(deployment)],
    vaults: new VaultSet(deployment),
    logger: logger.child({ module: 'indexer' }),
    onHead: (block) => {
      newest.saw(block);
      head.set(block);
      // A first sync takes long.
      lag.set(indexer.lagBlocks);
      leading.set(lead.leads ? 1 : 0);
    },
    startBlock: deployment.startBlock,
    identity: indexIdentity(deployment),
    maxRange: config.INDEX_MAX_RANGE,
    overlap: config.INDEX_OVERLAP_BLOCKS,
    takeApart: bulkLogs({
      deployment,
      isFile: store.dialect === 'sqlite',
      logger: logger.child({ module: 'indexer' }),
    }),
    maxLagMs: config.MARKS_STALE_AFTER_MS,
  });
  const storeState = watchedStore();
  // The route itself is taken too.
  const relayer = config.RELAYER_URL.endsWith(EXECUTE_ROUTE)
    ? config.RELAYER_URL.slice(0, -EXECUTE_ROUTE.length)
    : config.RELAYER_URL;
  const coverIndex = new CoverIndex(store.db);
  const service: Service = {
    client,
    deployment,
    marks,
    navs,
    indexer,
    news,
    newest,
    orders: new OrderIndex(store.db),
    due: new DueIndex(store.db),
    unpaid: new UnpaidPositions(store.db),
    coverIndex,
    coverCalendar: new CoverCalendar({ client, deployment }),
    weekends: new WeekendHistory(store.db, coverIndex, navs),
    ledger: new Ledger(store.db, (vault, time) => navs.navAt(vault, time)),
    accountBooks: new AccountBooks(
      store.db,
      (vault, time) => navs.navAt(vault, time),
      Math.max(MOST_AHEAD * config.INDEX_OVERLAP_BLOCKS, KEPT_BELOW_BLOCKS),
    ),
    tail: new LedgerTail(client, deployment),
    accounts: new AccountAddresses(client, deployment),
    nonces: new NonceLanes(),
    balances: new RecentBalances(),
    urls: {
      base: config.PUBLIC_BASE_URL,
      relayer: `${relayer}${EXECUTE_ROUTE}`,
      relayerCover: `${relayer}${COVER_ROUTE}`,
      approval: config.APPROVAL_URL ?? `${config.PUBLIC_BASE_URL}${APPROVE_PATH}`,
      // An operator's own endpoint may carry a key in its path: only its origin is told.
      rpc: config.CHAIN_RPC_PUBLIC ?? originOf(config.RPC_URLS[0]),
      explorer: config.CHAIN_EXPLORER,
    },
    logger,
  };
  const readiness: ReadinessCheck[] = [
    { name: 'marks', check: () => marks.readiness() },
    {
      name: 'order index',
      check: () => ({
        ...indexer.readiness(),
        ...(store.dialect === 'postgres' ? { note: lead.leads ? 'leader' : 'follower' } : {}),
      }),
    },
    { name: 'store', check: storeState.check },
  ];
  const http = createApiApp({ config, service, logger, metrics, readiness });
  const listening = await listen(http.app, config.HTTP_HOST, config.API_PORT).catch(
    async (error: unknown) => {
      await store.close();
      throw error;
    },
  );
  let counted = false;
  const indexRound = async (catalog: Catalog): Promise<void> => {
    const role = await lead.take();
    if (role === 'follows') {
      await navIndex.follow(catalog);
      await indexer.follow();
      return;
    }
    if (role === 'taken') {
      navIndex.reopen();
      indexer.reopen();
    }
    await navIndex.prepare(catalog);
    await indexer.sync();
    if (!counted && indexer.caughtUp) {
      counted = true;
      await gatherStatistics(store);
    }
  };
  marks.start();
  const indexing = repeat({
    name: 'indexer',
    intervalMs: () => Math.max(config.INDEX_INTERVAL_MS, indexer.pauseMs),
    logger,
    work: async () => {
      try {
        await storeState.probe(() =>
          store.db.selectFrom('index_identity').select('name').execute(),
        );
        await indexRound(await marks.readyCatalog());
      } finally {
        lag.set(indexer.lagBlocks);
        leading.set(lead.leads ? 1 : 0);
        news.tell();
      }
    },
  });
  logger.info({ url: listening.url }, 'api is listening');
  return {
    url: listening.url,
    port: listening.port,
    stop: async () => {
      indexer.end();
      news.end();
      const ended = Promise.all([marks.stop(), indexing.stop()]);
      await Promise.all([
        listening.close(HTTP_CLOSE_MS),
        // Who still waits for a node that hangs is left: it writes nothing more once the lead is given up.
        within(ended, RUN_ENDS_MS, 'the end of what is read').catch((err: unknown) => {
          logger.info({ err }, 'what is being read from the chain is left');
        }),
      ]);
      await lead.release();
      await store.close();
    },
  };
}

/** Whether the store answered last. */
function watchedStore() {
  let failure: string | null = 'not asked yet';
  return {
    check: (): ReadinessResult =>
      failure === null ? { ok: true } : { ok: false, reason: failure },
    probe: async (ask: () => Promise<unknown>): Promise<void> => {
      try {
        await ask();
        failure = null;
      } catch (error) {
        failure = 'the store does not answer';
        throw error;
      }
    },
  };
}

function originOf(url: string | undefined): string {
  return url === undefined ? '' : new URL(url).origin;
}
