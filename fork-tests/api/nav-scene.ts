/** The NAV index alone on a fork, with rows of its own: what a test compares to the last base unit. */
import type { Address } from 'viem';
import { Catalog } from '../../api/catalog/catalog.ts';
import { readCatalog } from '../../api/catalog/read-catalog.ts';
import { type CheckpointTables, checkpointMigrations } from '../../api/indexer/checkpoints.ts';
import { type EpochTables, epochMigrations } from '../../api/indexer/epoch.ts';
import { Indexer } from '../../api/indexer/indexer.ts';
import { LogReader } from '../../runtime/chain/log-reader.ts';
import { VaultSet, type VaultTables, vaultMigrations } from '../../api/indexer/vault-set.ts';
import { NavHistory } from '../../api/nav/nav-history.ts';
import { NavIndex } from '../../api/nav/nav-index.ts';
import { navRows } from '../../api/nav/nav-rows.ts';
import { type NavTables, navMigrations } from '../../api/nav/nav-tables.ts';
import { createChainClient } from '../../runtime/chain/client.ts';
import { createLogger } from '../../runtime/logger.ts';
import { openStore } from '../../runtime/store/store.ts';
import type { Fork } from '../harness/fork.ts';

type Tables = NavTables & CheckpointTables & EpochTables & VaultTables;

export type NavScene = {
  navs: NavHistory;
  index: NavIndex;
  /** Up to the head; `listed`: only these baskets are in the registry's list so far. */
  sync: (listed?: readonly string[]) => Promise<void>;
  /** Every row, for comparison. */
  rows: () => Promise<Record<string, unknown[]>>;
  close: () => Promise<void>;
};

export async function openNavScene(fork: Fork, maxRange = 10_000): Promise<NavScene> {
  const { deployment } = fork;
  const logger = createLogger('test', process.env.TEST_LOG_LEVEL ?? 'fatal');
  const store = await openStore<Tables>({
    url: 'file::memory:',
    migrations: {
      ...navMigrations,
      ...checkpointMigrations,
      ...epochMigrations,
      ...vaultMigrations,
    },
  });
  const { db } = store;
  const client = createChainClient({
    urls: [fork.url],
    timeoutMs: 20_000,
    multicall3: deployment.multicall3,
  });
  const index = new NavIndex({
    write: (work) => db.transaction().execute(work),
    db,
    checkpoints: db,
    client,
    deployment,
    reader: new LogReader({ client, logger, maxRange }),
    logger,
  });
  const indexer = new Indexer<Tables>({
    write: (work) => db.transaction().execute(work),
    client,
    db,
    projections: [index.projection()],
    vaults: new VaultSet(deployment),
    logger,
    onHead: () => undefined,
    startBlock: deployment.startBlock,
    identity: 'test',
    maxRange,
    overlap: 50,
    maxLagMs: 60_000,
  });
  const whole = await readCatalog(client, deployment);
  const part = new Map<string, Catalog>();
  const catalogOf = (listed?: readonly string[]): Catalog => {
    if (listed === undefined) return whole;
    const key = listed.join();
    const known =
      part.get(key) ?? new Catalog(whole.baskets.filter(({ ticker }) => listed.includes(ticker)));
    part.set(key, known);
    return known;
  };
  return {
    index,
    navs: new NavHistory(db, index),
    sync: async (listed) => {
      await index.prepare(catalogOf(listed));
      await indexer.sync();
      // A basket that nobody has traded around since its genesis opens with the next run.
      await index.prepare(catalogOf(listed));
    },
    rows: () => navRows(db),
    close: () => store.close(),
  };
}

/** All candles of a minute, the running one at `now`. */
export async function minutesOf(scene: NavScene, vault: Address, now: number, count: number) {
  const candles = await scene.navs.candles(vault, 60, count, now);
  if (candles === null) throw new Error('the history is not complete');
  return candles;
}
