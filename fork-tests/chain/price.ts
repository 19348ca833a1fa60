/**
 * Uniswap v3 price arithmetic for seeding and moving pools. Prices are quote units per whole token x 1e18
 * (dollars for USDG, ether for WETH); square-root prices are Q64.96 of token1 base units per token0 base unit.
 */
import type { Address } from 'viem';

const Q96 = 1n << 96n;
const Q192 = 1n << 192n;
export const PRICE_SCALE = 10n ** 18n;
/** TickMath of v3-core. */
const MAX_TICK = 887_272;
const TICK_SPACING: Readonly<Record<number, number>> = { 100: 1, 500: 10, 3000: 60, 10000: 200 };

export type Pair = {
  token: Address;
  tokenDecimals: number;
  quote: Address;
  quoteDecimals: number;
};

/** True when `token` sorts below `quote`, so that the pool's own price is quote per token. */
export function isToken0(pair: Pick<Pair, 'token' | 'quote'>): boolean {
  return BigInt(pair.token) < BigInt(pair.quote);
}

/** Square-root price at which one whole token costs `price`, rounded down. */
export function sqrtPriceAt(pair: Pair, price: bigint): bigint {
  if (price <= 0n) throw new RangeError('a price must be positive');
  const quoteSide = price * 10n ** BigInt(pair.quoteDecimals);
  const tokenSide = PRICE_SCALE * 10n ** BigInt(pair.tokenDecimals);
  return isToken0(pair)
    ? squareRoot((quoteSide * Q192) / tokenSide)
    : squareRoot((tokenSide * Q192) / quoteSide);
}

/** The inverse of `sqrtPriceAt`, rounded down. */
export function priceAt(pair: Pair, sqrtPriceX96: bigint): bigint {
  const ratio = sqrtPriceX96 * sqrtPriceX96;
  const one = 10n ** BigInt(pair.tokenDecimals) * PRICE_SCALE;
  const base = isToken0(pair) ? (one * ratio) / Q192 : (one * Q192) / ratio;
  return base / 10n ** BigInt(pair.quoteDecimals);
}

/** Full-range liquidity whose quote side is `depth` quote base units at this price. */
export function liquidityOf(pair: Pair, sqrtPriceX96: bigint, depth: bigint): bigint {
  return isToken0(pair) ? (depth * Q96) / sqrtPriceX96 : (depth * sqrtPriceX96) / Q96;
}

/** The widest range that the fee tier's tick spacing allows. Throws for an unknown tier. */
export function fullRange(fee: number): { lower: number; upper: number } {
  const spacing = TICK_SPACING[fee];
  if (spacing === undefined) throw new RangeError(`no v3 fee tier ${fee}`);
  const upper = Math.floor(MAX_TICK / spacing) * spacing;
  return { lower: -upper, upper };
}

/** A float (12 significant digits are kept) scaled by 1e18. */
export function toScaled(value: number): bigint {
  if (!Number.isFinite(value) || value < 0) throw new RangeError(`not a price: ${value}`);
  const [mantissa, exponent] = value.toExponential(11).split('e') as [string, string];
  const power = Number(exponent) - 11 + 18;
  const digits = BigInt(mantissa.replace('.', ''));
  return power >= 0 ? digits * 10n ** BigInt(power) : digits / 10n ** BigInt(-power);
}

/** floor(sqrt(value)) by Newton's method. */
export function squareRoot(value: bigint): bigint {
  if (value < 0n) throw new RangeError('square root of a negative number');
  if (value < 2n) return value;
  let x = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  for (;;) {
    const next = (x + value / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}
