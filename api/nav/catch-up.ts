/** The history of baskets that are new to this store, up to where the index stands. */
import type { Kysely } from 'kysely';
import { type Address, BlockNotFoundError, type PublicClient } from 'viem';
import type { Checkpoint, CheckpointTables } from '../indexer/checkpoints.ts';
import type { WriteTransaction } from '../indexer/lead.ts';
import { logRanges } from '../../runtime/chain/log-ranges.ts';
import { basePrices, type ChainHistory } from './base-prices.ts';
import { MINUTE, minutesOf, startOf } from './minutes.ts';
import { addBaskets, dropSpans, openings, replaceMinutes } from './nav-store.ts';
import type { NavTables } from './nav-tables.ts';
import { PRICE_TOPICS, swapsIn } from './swap-logs.ts';
import { Tape } from './tape.ts';
import { loadTape, writeTape } from './tape-store.ts';
import type { NavBasket } from './valuation.ts';

export type CatchUpOptions = ChainHistory & {
  db: Kysely<NavTables>;
  /** What every change of rows runs in. */
  write: WriteTransaction<NavTables>;
  checkpoints: Kysely<CheckpointTables>;
};

/**
 * @param cursor where the index stands; null before its first step: then only the prices of before the start are read.
 * @returns false when the chain is no longer the one of the cursor: the index has to undo that first.
 */
export async function catchUp(
  options: CatchUpOptions,
  baskets: readonly NavBasket[],
  cursor: Checkpoint | null,
): Promise<boolean> {
  const { db, write, client, deployment, reader, logger } = options;
  if (cursor !== null && (await timeAt(client, cursor)) === null) return false;
  const to = cursor?.block ?? deployment.startBlock - 1;
  const isFirst = (await openings(db)).size === 0;
  const from = isFirst ? deployment.startBlock : await genesisBlock(options, baskets, to);
  const vaults = baskets.map(({ vault }) => vault);
  const pools = new Set(baskets.flatMap((basket) => basket.pools));
  if (from <= to) logger.info({ baskets: baskets.length, from, to }, 'NAV history is read anew');

  const tape = new Tape(await basePrices(options, [...pools], from - 1));
  const opened = new Map<string, bigint>();
  // Rows of an earlier attempt that did not come to its end.
  await write((trx) => dropSpans(trx, vaults));
  const filter = { addresses: [...pools] as Address[], topics: PRICE_TOPICS };
  const ranges = pools.size === 0 ? [] : logRanges(reader, filter, { from, to });
  for await (const { logs } of ranges) {
    const fresh = tape.fresh(swapsIn(logs, pools));
    const [first] = fresh;
    if (first === undefined) continue;
    tape.add(fresh);
    const minute = startOf(first.time, MINUTE);
    const unopened = new Set(vaults.filter((vault) => !opened.has(vault)));
    const found = minutesOf(baskets, tape.before(minute), tape.since(minute), unopened);
    for (const [vault, opening] of found.openings) opened.set(vault, opening);
    await write((trx) => replaceMinutes(trx, vaults, minute, found.rows));
    tape.prune();
  }
  if (cursor !== null && (await timeAt(client, cursor)) === null) return false;
  await write(async (trx) => {
    await writeTape(trx, (await loadTape(trx)).joinedBy(tape));
    await addBaskets(trx, vaults, opened);
  });
  return true;
}

/** Unix seconds of the cursor's block; null when the chain has another block there, or none. */
export async function timeAt(client: PublicClient, cursor: Checkpoint): Promise<number | null> {
  try {
    const block = await client.getBlock({ blockNumber: BigInt(cursor.block) });
    return block.hash === cursor.hash ? Number(block.timestamp) : null;
  } catch (error) {
    if (error instanceof BlockNotFoundError) return null;
    throw error;
  }
}

/** The first block of the second in which the oldest of them began; no swap before it counts. */
async function genesisBlock(
  { client, deployment }: CatchUpOptions,
  baskets: readonly NavBasket[],
  to: number,
): Promise<number> {
  const genesisAt = Math.min(...baskets.map((basket) => basket.genesisAt));
  let low = deployment.startBlock;
  let high = to + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const { timestamp } = await client.getBlock({ blockNumber: BigInt(middle) });
    if (Number(timestamp) < genesisAt) low = middle + 1;
    else high = middle;
  }
  return low;
}
