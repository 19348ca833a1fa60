/** Turns dollar prices into the square-root prices of every pool, and trades the pools there. */
import type { Address, LocalAccount } from 'viem';
import { marketMakerAbi, uniswapV3PoolAbi } from '../../../contracts-abi/generated/index.ts';
import { type ChainClient, write } from '../client.ts';
import { isToken0, PRICE_SCALE, priceAt, sqrtPriceAt } from '../price.ts';
import { type Manifest, pairOf, type SeededToken, tokenOf } from '../seed/manifest.ts';
import { makerMoveGas } from './gas.ts';

export type Move = { pool: Address; token0: Address; token1: Address; sqrtPriceX96: bigint };

/**
 * Pure. `prices` are dollars x 1e18 per whole token; it must hold WETH when a pool against WETH is to move. Pools of
 * one token end at one dollar price, whatever they trade against.
 */
export function movesTo(manifest: Manifest, prices: ReadonlyMap<string, bigint>): Move[] {
  const wethPrice = prices.get('WETH');
  const moves: Move[] = [];
  for (const token of manifest.tokens) {
    const price = prices.get(token.symbol);
    if (price === undefined) continue;
    for (const pool of token.pools) {
      let quoted = price;
      if (pool.quote === 'WETH') {
        if (wethPrice === undefined) throw new Error(`${token.symbol} needs the price of WETH`);
        quoted = (price * PRICE_SCALE) / wethPrice;
      }
      const pair = pairOf(manifest, token, pool);
      const [token0, token1] = isToken0(pair) ? [pair.token, pair.quote] : [pair.quote, pair.token];
      moves.push({ pool: pool.address, token0, token1, sqrtPriceX96: sqrtPriceAt(pair, quoted) });
    }
  }
  return moves;
}

/** Trades the pools to these prices in one transaction of the maker. */
export async function trade(
  client: ChainClient,
  maker: LocalAccount,
  manifest: Manifest,
  moves: readonly Move[],
): Promise<void> {
  if (moves.length === 0) return;
  await write(client, maker, {
    address: manifest.maker,
    abi: marketMakerAbi,
    functionName: 'move',
    args: [moves],
    gas: makerMoveGas(moves.length),
  });
}

async function sqrtPriceNow(client: ChainClient, pool: Address): Promise<bigint> {
  const [sqrtPriceX96] = await client.readContract({
    address: pool,
    abi: uniswapV3PoolAbi,
    functionName: 'slot0',
  });
  return sqrtPriceX96;
}

/** Dollars x 1e18 per whole token in its reference pool, from slot0. Null where it has no pool. */
export async function dollarPrice(
  client: ChainClient,
  manifest: Manifest,
  token: SeededToken,
): Promise<bigint | null> {
  const [pool] = token.pools;
  if (pool === undefined) return null;
  const quoted = priceAt(pairOf(manifest, token, pool), await sqrtPriceNow(client, pool.address));
  if (pool.quote === 'USDG') return quoted;
  const weth = await dollarPrice(client, manifest, tokenOf(manifest, 'WETH'));
  return weth === null ? null : (quoted * weth) / PRICE_SCALE;
}
