/** Finds the v3 pools of the live stock tokens and what they quote. */
import { type Address, erc20Abi, zeroAddress } from 'viem';
import { uniswapV3FactoryAbi, uniswapV3PoolAbi } from '../../../contracts-abi/generated/index.ts';
import { LIVE, LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import type { ReadClient } from '../client.ts';
import { DeployError } from '../deploy/errors.ts';
import { isToken0, type Pair, PRICE_SCALE, priceAt } from '../price.ts';
import type { SeededPool, SeededToken } from '../seed/manifest.ts';
import { TOKENS } from '../seed/tokens.ts';

const TIERS = [100, 500, 3000, 10000] as const;
const Q96 = 1n << 96n;
/** Dollars on the quote side in range, below which a pool is left out. */
const LEAST_DEPTH = 1_000n * PRICE_SCALE;

type LivePool = SeededPool & {
  sqrtPriceX96: bigint;
  liquidity: bigint;
  /** Observation slots in use, and those there will be once the ring has come round. */
  cardinality: number;
  cardinalityNext: number;
  /** Dollars x 1e18 per whole token. */
  price: bigint;
  /** Dollars x 1e18 on the quote side, by the liquidity in range. */
  depth: bigint;
};

export type LiveToken = Omit<SeededToken, 'pools'> & { pools: LivePool[] };

/**
 * WETH first, then the stock tokens that have a pool; each with its deepest pool first. One token at a time: a public
 * endpoint refuses more than about twenty calls at once. Throws a DeployError without WETH/USDG.
 */
export async function discoverMarket(client: ReadClient): Promise<LiveToken[]> {
  const weth = await discoverToken(client, 'WETH', LIVE.weth, null);
  const [wethPool] = weth.pools;
  if (wethPool === undefined) throw new DeployError('this chain has no WETH/USDG pool in use');
  const stocks: LiveToken[] = [];
  for (const [symbol, address] of Object.entries(LIVE_STOCKS)) {
    const stock = await discoverToken(client, symbol, address, wethPool.price);
    if (stock.pools.length > 0) stocks.push(stock);
  }
  return [weth, ...stocks];
}

/** `wethPrice` null: pools against WETH are not looked for. */
async function discoverToken(
  client: ReadClient,
  symbol: string,
  address: Address,
  wethPrice: bigint | null,
): Promise<LiveToken> {
  const decimals = await client.readContract({
    address,
    abi: erc20Abi,
    functionName: 'decimals',
  });
  const quotes = wethPrice === null ? (['USDG'] as const) : (['USDG', 'WETH'] as const);
  const found = await Promise.all(
    quotes.flatMap((quote) =>
      TIERS.map((fee) => readPool(client, { address, decimals }, quote, fee, wethPrice)),
    ),
  );
  const pools = found
    .filter((pool) => pool !== null)
    .filter(({ depth }) => depth >= LEAST_DEPTH)
    .sort((a, b) => (a.depth > b.depth ? -1 : 1));
  const [best] = pools;
  const beta = TOKENS.find((seed) => seed.symbol === symbol)?.beta ?? 1;
  const price = best === undefined ? 0 : Number(best.price) / 1e18;
  return { symbol, address, decimals, price, beta, pools };
}

async function readPool(
  client: ReadClient,
  token: { address: Address; decimals: number },
  quote: 'USDG' | 'WETH',
  fee: number,
  wethPrice: bigint | null,
): Promise<LivePool | null> {
  const pair: Pair = {
    token: token.address,
    tokenDecimals: token.decimals,
    quote: quote === 'USDG' ? LIVE.usdg : LIVE.weth,
    quoteDecimals: quote === 'USDG' ? 6 : 18,
  };
  const address = await client.readContract({
    address: LIVE.uniswapV3Factory,
    abi: uniswapV3FactoryAbi,
    functionName: 'getPool',
    args: [pair.token, pair.quote, fee],
  });
  if (address === zeroAddress) return null;
  const [slot0, liquidity] = await Promise.all([
    client.readContract({ address, abi: uniswapV3PoolAbi, functionName: 'slot0' }),
    client.readContract({ address, abi: uniswapV3PoolAbi, functionName: 'liquidity' }),
  ]);
  const [sqrtPriceX96, , , cardinality, cardinalityNext] = slot0;
  if (sqrtPriceX96 === 0n || liquidity === 0n) return null;
  const quoteDollars = quote === 'USDG' ? PRICE_SCALE : (wethPrice ?? 0n);
  const side = isToken0(pair) ? (liquidity * sqrtPriceX96) / Q96 : (liquidity * Q96) / sqrtPriceX96;
  return {
    address,
    quote,
    fee,
    sqrtPriceX96,
    liquidity,
    cardinality,
    cardinalityNext,
    price: (priceAt(pair, sqrtPriceX96) * quoteDollars) / PRICE_SCALE,
    depth: (side * quoteDollars) / 10n ** BigInt(pair.quoteDecimals),
  };
}
