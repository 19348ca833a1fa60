/** QuoterV2 reads of one hop, added to a batch (IQuoterV2). Null: this pool cannot do it. */
import type { Address } from 'viem';
import { quoterV2Abi } from '../../contracts-abi/generated/index.ts';
import type { Pending, ReadBatch } from '../chain/read-batch.ts';
import type { Hop } from './routes.ts';

/** A swap that ran to the end of the pool's prices consumed only a part of its input (TickMath's bounds). */
const MIN_SQRT_PRICE = 4_295_128_740n;
const MAX_SQRT_PRICE = 1461446703485210103287273052203988822378723970341n;

/** `sqrtPrice`: what the swap leaves in the pool, X96. `crossed`: initialised ticks, as the quoter counts them. */
export type LegQuote = { amount: bigint; sqrtPrice: bigint; crossed: number };
export type PendingQuote = () => LegQuote | null;

function quoteOf(pending: Pending<readonly [bigint, bigint, number, bigint]>): PendingQuote {
  return () => {
    const result = pending();
    if (!result.ok) return null;
    const [amount, sqrtPrice, crossed] = result.value;
    const exhausted = sqrtPrice <= MIN_SQRT_PRICE || sqrtPrice >= MAX_SQRT_PRICE;
    return exhausted ? null : { amount, sqrtPrice, crossed };
  };
}

/** What selling exactly `amountIn` yields; null where the pool cannot take all of it. */
export function quoteExactInput(
  batch: ReadBatch,
  quoter: Address,
  hop: Hop,
  amountIn: bigint,
): PendingQuote {
  return quoteOf(
    batch.add({
      to: quoter,
      abi: quoterV2Abi,
      functionName: 'quoteExactInputSingle',
      args: [{ ...hop, amountIn, sqrtPriceLimitX96: 0n }],
    }),
  );
}

/** What buying exactly `amountOut` costs; null where the pool does not hold it. */
export function quoteExactOutput(
  batch: ReadBatch,
  quoter: Address,
  hop: Hop,
  amountOut: bigint,
): PendingQuote {
  return quoteOf(
    batch.add({
      to: quoter,
      abi: quoterV2Abi,
      functionName: 'quoteExactOutputSingle',
      args: [{ ...hop, amount: amountOut, sqrtPriceLimitX96: 0n }],
    }),
  );
}
