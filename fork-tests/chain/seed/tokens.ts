/**
 * The market of the local chain: what trades, at what price it starts, in which pools. Prices and depths are invented;
 * names follow the stock tokens of the live chain.
 */
import { MIN_COVER_CARDINALITY } from '../../../contracts-abi/constants.ts';

type QuoteSymbol = 'USDG' | 'WETH';
type FeeTier = 500 | 3000 | 10000;

export type PoolSeed = {
  quote: QuoteSymbol;
  fee: FeeTier;
  /** Dollars on each side at the start, over the full range. */
  depthUsd: number;
  /** Observation slots; absent: enough for a reference. */
  cardinality?: number;
};

export type TokenSeed = {
  symbol: string;
  name: string;
  decimals: number;
  /** Dollars per whole token at the start. */
  price: number;
  /** How strongly it follows the market as a whole. */
  beta: number;
  /** The first one is the reference pool. None: the token cannot be traded at all. */
  pools: readonly PoolSeed[];
};

/** Observation slots of a reference pool: above the 700 of rule 1, with room for a few writes in one window. */
export const CARDINALITY = 720;
/** Of a cover basket's reference pools (rule 22): an hour and a quarter of writes in each second. */
export const COVER_CARDINALITY = Number(MIN_COVER_CARDINALITY);

export const WETH_PRICE = 3_000;
/** The first one is the oracle's WETH/USDG pool. */
export const WETH_POOLS: readonly PoolSeed[] = [usdg(500, 20_000_000), usdg(3000, 6_000_000)];

/**
 * Those of the cover baskets (MAG7, ADS, CORE) are deep: a cover cap is what pushing a pool costs in fees (rule 23), a
 * few thousand dollars here.
 */
export const TOKENS: readonly TokenSeed[] = [
  stock('NVDA', 'NVIDIA', 180, 1.6, [usdg(500, 200_000_000), usdg(3000, 3_000_000)]),
  stock('TSLA', 'Tesla', 340, 1.8, [usdg(3000, 40_000_000), weth(3000, 2_000_000)]),
  stock('AAPL', 'Apple', 230, 1.0, [usdg(500, 200_000_000)]),
  stock('MSFT', 'Microsoft', 500, 0.9, [usdg(500, 200_000_000)]),
  stock('AMZN', 'Amazon', 225, 1.1, [usdg(3000, 40_000_000)]),
  stock('GOOGL', 'Alphabet', 200, 1.0, [usdg(3000, 60_000_000)]),
  stock('META', 'Meta Platforms', 720, 1.2, [usdg(3000, 60_000_000), usdg(500, 3_000_000)]),
  stock('COIN', 'Coinbase', 310, 2.0, [weth(3000, 4_000_000)]),
  stock('SPY', 'S&P 500 ETF', 640, 1.0, [usdg(500, 500_000_000)]),
  stock('QQQ', 'Nasdaq-100 ETF', 560, 1.2, [usdg(500, 300_000_000)]),
  stock('AMD', 'Advanced Micro Devices', 165, 1.7, [usdg(3000, 4_000_000)]),
  stock('PLTR', 'Palantir', 160, 1.8, [weth(3000, 3_000_000)]),
  stock('AVGO', 'Broadcom', 300, 1.4, [usdg(3000, 4_000_000)]),
  stock('ORCL', 'Oracle', 230, 1.0, [usdg(3000, 3_000_000)]),
  stock('INTC', 'Intel', 25, 1.2, [usdg(10000, 1_500_000)]),
  stock('CRWD', 'CrowdStrike', 430, 1.3, [usdg(10000, 1_500_000)]),
  stock('NFLX', 'Netflix', 1_200, 1.1, [usdg(3000, 3_000_000)]),
  stock('HOOD', 'Robinhood Markets', 110, 2.0, [weth(3000, 2_000_000), usdg(10000, 1_000_000)]),
  stock('MSTR', 'Strategy', 350, 2.2, [weth(10000, 2_000_000)]),
  stock('JPM', 'JPMorgan Chase', 290, 0.9, [usdg(3000, 3_000_000)]),
  stock('LLY', 'Eli Lilly', 720, 0.5, [usdg(3000, 2_500_000)]),
  stock('UNH', 'UnitedHealth', 310, 0.4, [usdg(10000, 1_500_000)]),
  stock('XOM', 'Exxon Mobil', 110, 0.6, [usdg(3000, 2_500_000)]),
  stock('TLT', '20+ Year Treasury ETF', 88, -0.3, [usdg(500, 4_000_000)]),
  // Two that are not of 18 decimals, so that no unit is right by luck.
  token('XAU', 'Vaulted Gold', 6, 3_400, -0.1, [usdg(3000, 4_000_000)]),
  token('CBTC', 'Custodied Bitcoin', 8, 110_000, 1.9, [
    usdg(500, 8_000_000),
    weth(3000, 3_000_000),
  ]),
  // Listed last week: its pool holds one observation, so there is no 10-minute average to refer to.
  stock('KLAR', 'Klarna', 42, 1.5, [
    { quote: 'USDG', fee: 10000, depthUsd: 600_000, cardinality: 1 },
  ]),
  // Tokenised before it trades anywhere: no pool, no route.
  stock('SPCX', 'SpaceX pre-IPO units', 420, 1.5, []),
];

function token(
  symbol: string,
  name: string,
  decimals: number,
  price: number,
  beta: number,
  pools: readonly PoolSeed[],
): TokenSeed {
  return { symbol, name, decimals, price, beta, pools };
}

function stock(
  symbol: string,
  company: string,
  price: number,
  beta: number,
  pools: readonly PoolSeed[],
): TokenSeed {
  // At most 31 bytes: the token's EIP-712 domain holds it in one word.
  return token(symbol, company, 18, price, beta, pools);
}

function usdg(fee: FeeTier, depthUsd: number): PoolSeed {
  return { quote: 'USDG', fee, depthUsd };
}

function weth(fee: FeeTier, depthUsd: number): PoolSeed {
  return { quote: 'WETH', fee, depthUsd };
}
