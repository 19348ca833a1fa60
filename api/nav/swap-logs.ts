/** The two events that set a v3 pool's price (IUniswapV3PoolEvents). Mints, burns and flash loans leave it alone. */
import { decodeAbiParameters, type Hex, toEventSelector } from 'viem';
import { uniswapV3PoolAbi } from '../../contracts-abi/generated/index.ts';
import type { IndexedLog } from '../indexer/projection.ts';
import type { Swap } from './minutes.ts';

function eventOf(name: 'Swap' | 'Initialize') {
  const found = uniswapV3PoolAbi.find((item) => item.type === 'event' && item.name === name);
  if (found?.type !== 'event') throw new Error(`the pool's ABI has no ${name}`);
  return found;
}

const SWAP = toEventSelector(eventOf('Swap'));
const INITIALIZE = toEventSelector(eventOf('Initialize'));

export const PRICE_TOPICS: readonly Hex[] = [SWAP, INITIALIZE];

/** amount0, amount1, sqrtPriceX96, …: the first two words are skipped. */
const SWAP_PRICE = [{ type: 'int256' }, { type: 'int256' }, { type: 'uint160' }] as const;
const INITIAL_PRICE = [{ type: 'uint160' }] as const;

function priceIn(log: IndexedLog): bigint | null {
  const [topic] = log.topics;
  if (topic === SWAP) return decodeAbiParameters(SWAP_PRICE, log.data)[2];
  if (topic === INITIALIZE) return decodeAbiParameters(INITIAL_PRICE, log.data)[0];
  return null;
}

/** Those of the logs that set the price of one of `pools` (lower case), in their order. */
export function swapsIn(logs: readonly IndexedLog[], pools: ReadonlySet<string>): Swap[] {
  return logs.flatMap((log) => {
    const pool = log.address.toLowerCase();
    const sqrtPrice = pools.has(pool) ? priceIn(log) : null;
    return sqrtPrice === null
      ? []
      : [{ pool, block: log.block, logIndex: log.logIndex, time: log.time, sqrtPrice }];
  });
}
