/** The two events that set a v3 pool's price (IUniswapV3PoolEvents). Mints, burns and flash loans leave it alone. */
import type { Hex } from 'viem';
import { uniswapV3PoolAbi } from '../../contracts-abi/generated/index.ts';
import { selectorOf, uintAt } from '../indexer/log-words.ts';
import type { IndexedLog } from '../indexer/projection.ts';
import type { Swap } from './minutes.ts';

const SWAP = selectorOf(uniswapV3PoolAbi, 'Swap');
const INITIALIZE = selectorOf(uniswapV3PoolAbi, 'Initialize');

export const PRICE_TOPICS: readonly Hex[] = [SWAP, INITIALIZE];

function priceIn(log: IndexedLog): bigint | null {
  const [topic] = log.topics;
  // amount0, amount1, sqrtPriceX96, …
  if (topic === SWAP) return uintAt(log, 2);
  if (topic === INITIALIZE) return uintAt(log, 0);
  return null;
}

/** Those of the logs that set the price of one of `pools` (lower case), in their order. */
export function swapsIn(logs: readonly IndexedLog[], pools: ReadonlySet<string>): Swap[] {
  const swaps: Swap[] = [];
  for (const log of logs) {
    const { address: pool, block, logIndex, time } = log;
    const sqrtPrice = pools.has(pool) ? priceIn(log) : null;
    if (sqrtPrice !== null) swaps.push({ pool, block, logIndex, time, sqrtPrice });
  }
  return swaps;
}
