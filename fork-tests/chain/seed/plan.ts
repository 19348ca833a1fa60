/** From the seed's dollars and weights to the plan that is deployed. Pure. */
import { BPS, SHARE } from '../../../contracts-abi/constants.ts';
import type {
  BasketPlan,
  ConstituentPlan,
  PlannedExternals,
  ProtocolPlan,
} from '../deploy/plan.ts';
import { liquidityOf, PRICE_SCALE, sqrtPriceAt, toScaled } from '../price.ts';
import { BASKETS, type BasketSeed, REBALANCE } from './baskets.ts';
import { type Manifest, pairOf, type SeededToken } from './manifest.ts';
import { TOKENS, WETH_POOLS, WETH_PRICE } from './tokens.ts';

/** Each basket opens with a thousand shares of the deployer's. */
const SEED_SHARES = 1_000n * SHARE;
/** Half a year of the cover market. */
export const COVER_WEEKS = 26;
/** A reference pool must keep half of the liquidity that it opened with. */
const LIQUIDITY_FLOOR_DIVISOR = 2n;

type SeededMarket = Pick<Manifest, 'tokens'> & {
  deployment: Pick<Manifest['deployment'], 'usdg' | 'weth'>;
};

export function protocolPlan(
  tokens: readonly SeededToken[],
  externals: PlannedExternals,
  roles: Pick<ProtocolPlan, 'owner' | 'guardian' | 'treasury'>,
): ProtocolPlan {
  const market: SeededMarket = { tokens: [...tokens], deployment: externals };
  const [weth] = tokens;
  const [pool] = weth?.pools ?? [];
  if (weth?.symbol !== 'WETH' || pool === undefined) throw new Error('WETH comes first');
  return {
    ...roles,
    externals,
    wethUsdgPool: pool.address,
    wethMinLiquidity: openingLiquidity(market, weth) / LIQUIDITY_FLOOR_DIVISOR,
    growth: [],
    coverWeeks: COVER_WEEKS,
    baskets: BASKETS.map((basket) => basketPlan(market, basket)),
  };
}

function basketPlan(market: SeededMarket, basket: BasketSeed): BasketPlan {
  const { weights, openingNav, ...texts } = basket;
  const total = Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  if (BigInt(total) !== BPS) throw new Error(`${basket.ticker}: weights sum to ${total}`);
  return {
    ...texts,
    rebalance: REBALANCE,
    seedShares: SEED_SHARES,
    targetWeights: Object.fromEntries(
      Object.entries(weights).map(([symbol, weight]) => [symbol, weight / Number(BPS)]),
    ),
    constituents: Object.entries(weights).map(([symbol, weight]) =>
      constituent(market, symbol, (toScaled(openingNav) * BigInt(weight)) / BPS),
    ),
  };
}

/** `value`: dollars x 1e18 of the constituent in one share. */
function constituent(market: SeededMarket, symbol: string, value: bigint): ConstituentPlan {
  const token = market.tokens.find((candidate) => candidate.symbol === symbol);
  if (token === undefined) throw new Error(`no token ${symbol}`);
  const price = toScaled(seedPriceOf(symbol));
  const [pool] = token.pools;
  return {
    token: token.address,
    genesisUnits: (value * 10n ** BigInt(token.decimals)) / price,
    pool: pool?.address ?? null,
    viaWeth: pool?.quote === 'WETH',
    minLiquidity:
      pool === undefined ? 0n : openingLiquidity(market, token) / LIQUIDITY_FLOOR_DIVISOR,
    statedPrice: pool === undefined ? 0n : price,
  };
}

function seedPriceOf(symbol: string): number {
  if (symbol === 'WETH') return WETH_PRICE;
  const seed = TOKENS.find((candidate) => candidate.symbol === symbol);
  if (seed === undefined) throw new Error(`no token ${symbol}`);
  return seed.price;
}

/** Liquidity that the reference pool was opened with. */
function openingLiquidity(market: SeededMarket, token: SeededToken): bigint {
  const seeds =
    token.symbol === 'WETH'
      ? WETH_POOLS
      : TOKENS.find((candidate) => candidate.symbol === token.symbol)?.pools;
  const [seed] = seeds ?? [];
  const [pool] = token.pools;
  if (seed === undefined || pool === undefined) throw new Error(`${token.symbol} has no pool`);
  const pair = pairOf(market, token, pool);
  const quotePrice = seed.quote === 'WETH' ? toScaled(WETH_PRICE) : PRICE_SCALE;
  const depth =
    (BigInt(seed.depthUsd) * 10n ** BigInt(pair.quoteDecimals) * PRICE_SCALE) / quotePrice;
  const price = (toScaled(token.price) * PRICE_SCALE) / quotePrice;
  return liquidityOf(pair, sqrtPriceAt(pair, price), depth);
}
