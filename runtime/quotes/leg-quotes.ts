/** QuoterV2 reads of one leg over one route, added to a batch (IQuoterV2). Null: this route cannot do it. */
import type { Address } from 'viem';
import { quoterV2Abi } from '../../contracts-abi/generated/index.ts';
import type { Pending, ReadBatch, ReadResult } from '../chain/read-batch.ts';
import { backwardPath, forwardPath, type Route } from './routes.ts';

/** A swap that ran to the end of the pool's prices consumed only a part of its input (TickMath's bounds). */
const MIN_SQRT_PRICE = 4_295_128_740n;
const MAX_SQRT_PRICE = 1461446703485210103287273052203988822378723970341n;

/** `sqrtPrice`: what the swap leaves in the pool on USDG's side of the route, X96. */
export type LegQuote = { amount: bigint; sqrtPrice: bigint };
export type PendingQuote = () => LegQuote | null;

function exhausted(sqrtPrice: bigint): boolean {
  return sqrtPrice <= MIN_SQRT_PRICE || sqrtPrice >= MAX_SQRT_PRICE;
}

/** From the quoter's amount and the price of each pool after it; USDG's side is the last one either way. */
function quoteOf<T>(
  pending: Pending<T>,
  read: (value: T) => readonly [bigint, readonly bigint[]],
): PendingQuote {
  return () => {
    const result: ReadResult<T> = pending();
    if (!result.ok) return null;
    const [amount, afters] = read(result.value);
    const sqrtPrice = afters.at(-1);
    return sqrtPrice === undefined || afters.some(exhausted) ? null : { amount, sqrtPrice };
  };
}

/** What selling exactly `amountIn` along the route yields; null where the pools cannot take all of it. */
export function quoteExactInput(
  batch: ReadBatch,
  quoter: Address,
  route: Route,
  amountIn: bigint,
): PendingQuote {
  if (route.length === 1) {
    const pending = batch.add({
      to: quoter,
      abi: quoterV2Abi,
      functionName: 'quoteExactInputSingle',
      args: [{ ...route[0], amountIn, sqrtPriceLimitX96: 0n }],
    });
    return quoteOf(pending, ([amountOut, after]) => [amountOut, [after]]);
  }
  const pending = batch.add({
    to: quoter,
    abi: quoterV2Abi,
    functionName: 'quoteExactInput',
    args: [forwardPath(route), amountIn],
  });
  return quoteOf(pending, ([amountOut, afters]) => [amountOut, afters]);
}

/** What buying exactly `amountOut` along the route costs; null where the pools do not hold it. */
export function quoteExactOutput(
  batch: ReadBatch,
  quoter: Address,
  route: Route,
  amountOut: bigint,
): PendingQuote {
  if (route.length === 1) {
    const pending = batch.add({
      to: quoter,
      abi: quoterV2Abi,
      functionName: 'quoteExactOutputSingle',
      args: [{ ...route[0], amount: amountOut, sqrtPriceLimitX96: 0n }],
    });
    return quoteOf(pending, ([amountIn, after]) => [amountIn, [after]]);
  }
  const pending = batch.add({
    to: quoter,
    abi: quoterV2Abi,
    functionName: 'quoteExactOutput',
    args: [backwardPath(route), amountOut],
  });
  return quoteOf(pending, ([amountIn, afters]) => [amountIn, afters]);
}
