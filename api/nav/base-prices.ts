/**
 * What pools stood at before the history begins: the last price that an event set. A node that keeps old states is
 * asked for it where the events lie too far back.
 */
import { type Address, numberToHex, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { uniswapV3PoolAbi } from '../../contracts-abi/generated/index.ts';
import type { Logger } from '../../runtime/logger.ts';
import { planBlockTime } from '../../runtime/chain/block-time.ts';
import { optional, ReadBatch } from '../../runtime/chain/read-batch.ts';
import { logRanges } from '../../runtime/chain/log-ranges.ts';
import type { LogReader } from '../../runtime/chain/log-reader.ts';
import { PRICE_TOPICS, swapsIn } from './swap-logs.ts';
import type { Base } from './tape.ts';

export type ChainHistory = {
  client: PublicClient;
  deployment: Deployment;
  reader: LogReader;
  logger: Logger;
};

/** Ranges that are searched backwards; at 10,000 blocks each more than a month of a chain of ten blocks a second. */
const MAX_RANGES = 3_000;

/** By pool (lower case), at the end of `block`. A pool that had no price then, or none that can be found, has zero. */
export async function basePrices(
  chain: ChainHistory,
  pools: readonly string[],
  block: number,
): Promise<Map<string, Base>> {
  const found = new Map<string, Base>();
  const missing = new Set(pools);
  const filter = { addresses: pools as Address[], topics: PRICE_TOPICS };
  const span = { from: 0, to: block, newestFirst: true };
  if (missing.size === 0) return found;
  let ranges = 0;
  for await (const { logs } of logRanges(chain.reader, filter, span)) {
    for (const swap of swapsIn(logs, missing)) {
      found.set(swap.pool, { sqrtPrice: swap.sqrtPrice, block: swap.block });
    }
    for (const pool of found.keys()) missing.delete(pool);
    ranges += 1;
    if (missing.size === 0 || ranges >= MAX_RANGES) break;
  }
  const searchedAll = missing.size === 0 || ranges < MAX_RANGES;
  const states = searchedAll ? null : await pastStates(chain, [...missing], block);
  for (const pool of missing) {
    found.set(pool, { sqrtPrice: states?.get(pool) ?? 0n, block: Math.max(block, 0) });
  }
  return found;
}

/** Null where the node no longer has the state. */
async function pastStates(
  chain: ChainHistory,
  pools: readonly string[],
  block: number,
): Promise<Map<string, bigint> | null> {
  const { client, deployment, logger } = chain;
  try {
    const batch = new ReadBatch();
    const time = planBlockTime(batch, deployment);
    const slots = pools.map((pool) => ({
      pool,
      slot: batch.add({
        to: pool as Address,
        abi: uniswapV3PoolAbi,
        functionName: 'slot0',
        args: [],
      }),
    }));
    await batch.send(client, deployment.multicall3, numberToHex(block));
    const header = await client.getBlock({ blockNumber: BigInt(block) });
    // A node may answer from the newest state instead of refusing.
    if (time() !== Number(header.timestamp)) throw new Error('the answer is of another block');
    return new Map(slots.map(({ pool, slot }) => [pool, optional(slot)?.[0] ?? 0n]));
  } catch (err) {
    logger.warn(
      { err, pools },
      'prices of before the start are not to be had: histories with these pools begin at their next trade',
    );
    return null;
  }
}
