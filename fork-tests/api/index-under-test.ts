/** The real indexer with the process's own projections, over a store of its own, driven step by step. */
import { type Address, numberToHex, type PublicClient } from 'viem';
import { readCatalog } from '../../api/catalog/read-catalog.ts';
import { bulkLogs, HELD_FROM, processThread } from '../../api/indexer/bulk-logs.ts';
import { Indexer } from '../../api/indexer/indexer.ts';
import { LogReader } from '../../runtime/chain/log-reader.ts';
import { apiProjections, indexIdentity } from '../../api/indexer/projections.ts';
import { VaultSet } from '../../api/indexer/vault-set.ts';
import { NavIndex } from '../../api/nav/nav-index.ts';
import { type ApiTables, apiMigrations } from '../../api/tables.ts';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { createChainClient } from '../../runtime/chain/client.ts';
import { createLogger } from '../../runtime/logger.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';

export type IndexUnderTest = {
  store: Store<ApiTables>;
  client: PublicClient;
  indexer: Indexer<ApiTables>;
  /** One run, as the process makes it. */
  sync: () => Promise<void>;
  /** Runs until the head of the chain is reached, whatever a node refuses meanwhile. */
  catchUp: () => Promise<void>;
  dump: () => Promise<string>;
  /** Answers that another thread took apart. */
  takenApart: () => number;
  close: () => Promise<void>;
};

export type IndexOptions = {
  database?: string;
  maxRange?: number;
  overlap?: number;
  timeoutMs?: number;
  /** Bytes of an answer that are taken apart on another thread. */
  heldFrom?: number;
};

export async function openIndex(
  url: string | readonly string[],
  deployment: Deployment,
  options: IndexOptions = {},
): Promise<IndexUnderTest> {
  const logger = createLogger('api', 'fatal');
  const client = createChainClient({
    urls: typeof url === 'string' ? [url] : url,
    timeoutMs: options.timeoutMs ?? 20_000,
    multicall3: deployment.multicall3,
    heldFrom: options.heldFrom ?? HELD_FROM,
  });
  const store = await openStore<ApiTables>({
    url: options.database ?? 'file::memory:',
    migrations: apiMigrations,
  });
  const maxRange = options.maxRange ?? 10_000;
  const nav = new NavIndex({
    write: (work) => store.db.transaction().execute(work),
    db: store.db,
    checkpoints: store.db,
    client,
    deployment,
    reader: new LogReader({ client, logger, maxRange }),
    logger,
  });
  if (options.heldFrom !== undefined) await processThread.start();
  const onThread = bulkLogs<ApiTables>({
    deployment,
    isFile: store.dialect === 'sqlite',
    logger,
  });
  let takenApart = 0;
  const indexer = new Indexer<ApiTables>({
    write: (work) => store.db.transaction().execute(work),
    client,
    db: store.db,
    projections: [nav.projection(), ...apiProjections(deployment)],
    vaults: new VaultSet(deployment),
    logger,
    onHead: () => undefined,
    startBlock: deployment.startBlock,
    identity: indexIdentity(deployment),
    maxRange,
    overlap: options.overlap ?? 50,
    takeApart: async (held, routing) => {
      const told = await onThread(held, routing);
      if (told !== null) takenApart += 1;
      return told;
    },
    maxLagMs: 60_000,
  });
  const catalog = await readCatalog(client, deployment);
  const sync = async (): Promise<void> => {
    await nav.prepare(catalog);
    await indexer.sync();
  };
  return {
    store,
    client,
    indexer,
    sync,
    catchUp: async () => {
      for (let failures = 0; ; ) {
        try {
          await sync();
          if (indexer.caughtUp && indexer.lagBlocks === 0) return;
        } catch (error) {
          failures += 1;
          if (failures > 20) throw error;
        }
      }
    },
    dump: () => dump(store),
    takenApart: () => takenApart,
    close: () => store.close(),
  };
}

/** Not derived from logs alone: where the cursor rested says when this process looked. */
const NOT_COMPARED = /^(kysely_|index_checkpoint|index_epoch|store_lead|nav_tape)/;

/** Every row of every table, ordered by its own text. */
export async function dump(store: Store<ApiTables>): Promise<string> {
  const tables = await store.db.introspection.getTables();
  const lines: string[] = [];
  for (const { name } of tables.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (NOT_COMPARED.test(name)) continue;
    const rows = await store.db
      .selectFrom(name as keyof ApiTables)
      .selectAll()
      .execute();
    lines.push(`# ${name}`, ...rows.map((row) => JSON.stringify(row)).toSorted());
  }
  return lines.join('\n');
}

/** Tables of a dump with their number of rows. */
export function countsOf(text: string): Record<string, number> {
  const counts: Record<string, number> = {};
  let table = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('# ')) {
      table = line.slice(2);
      counts[table] = 0;
    } else {
      counts[table] = (counts[table] ?? 0) + 1;
    }
  }
  return counts;
}

/** A topic or a word that holds an address. */
export function addressWord(address: Address): `0x${string}` {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
}

export function hexBlock(block: number): `0x${string}` {
  return numberToHex(block);
}
