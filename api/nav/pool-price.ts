/** Dollar prices out of Uniswap v3 square-root prices, rounded down at every step as PoolPrice.sol does. Pure. */
import { NAV_SCALE, USD } from '../../contracts-abi/constants.ts';

const WETH_QUOTE_SCALE = 10n ** 36n;
const MAX_UINT128 = (1n << 128n) - 1n;

/** What `amount` base units of one side are worth in base units of the other. Zero for a pool without a price. */
function quote(sqrtPriceX96: bigint, baseIsToken0: boolean, amount: bigint): bigint {
  if (sqrtPriceX96 === 0n) return 0n;
  if (sqrtPriceX96 <= MAX_UINT128) {
    const ratioX192 = sqrtPriceX96 * sqrtPriceX96;
    return baseIsToken0 ? (ratioX192 * amount) >> 192n : (amount << 192n) / ratioX192;
  }
  const ratioX128 = (sqrtPriceX96 * sqrtPriceX96) >> 64n;
  return baseIsToken0 ? (ratioX128 * amount) >> 128n : (amount << 128n) / ratioX128;
}

/** Dollars x 1e18 for a whole token in its USDG pool. */
export function usdgPairPrice(
  sqrtPriceX96: bigint,
  tokenIsToken0: boolean,
  decimals: number,
): bigint {
  return quote(sqrtPriceX96, tokenIsToken0, 10n ** BigInt(decimals) * (NAV_SCALE / USD));
}

/** Dollars x 1e18 for a whole token in its WETH pool, `wethPrice` being WETH's own. */
export function wethPairPrice(
  sqrtPriceX96: bigint,
  tokenIsToken0: boolean,
  decimals: number,
  wethPrice: bigint,
): bigint {
  const scale = WETH_QUOTE_SCALE / NAV_SCALE;
  const inWeth = quote(sqrtPriceX96, tokenIsToken0, 10n ** BigInt(decimals) * scale);
  return (inWeth * wethPrice) / WETH_QUOTE_SCALE;
}
