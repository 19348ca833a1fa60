/** Reads of the WETH/USDG pools that legs of a basket may go through, at a few amounts (weth-curve.ts). */
import { isAddressEqual } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { USD } from '../../contracts-abi/constants.ts';
import { mulDivUp } from '../../contracts-abi/rounding.ts';
import type { ReadBatch } from '../chain/read-batch.ts';
import { type PendingQuote, quoteExactInput, quoteExactOutput } from './leg-quotes.ts';
import type { QuotedBasket } from './quoted-basket.ts';
import type { Route } from './routes.ts';
import { type CurvePoint, WethCurve } from './weth-curve.ts';

/** By fee tier; a pool that gives no quote is not among them. */
export type WethCurves = ReadonlyMap<number, WethCurve>;

/** Where a pool is quoted, relative to the trade: more goes through it only where prices have just run away. */
const AMOUNTS_BPS = [250n, 1_000n, 2_500n, 4_000n, 5_500n, 7_000n, 8_500n, 10_000n, 12_500n];
/** Where it is not known what the trade is worth: from a dollar to 16 million of them. */
const AMOUNTS_OF_ANY_TRADE = Array.from({ length: 9 }, (_none, power) => USD * 8n ** BigInt(power));

/** Fee tier of the WETH/USDG pool that a route goes through; null for one that needs none. */
export function wethTierOf({ weth }: Deployment, [first]: Route): number | null {
  return isAddressEqual(first.tokenOut, weth) ? first.fee : null;
}

/** Curves of buying WETH for up to about `usdg` in all. */
export function planBuyCurves(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
  usdg: bigint,
): () => WethCurves {
  const { quoterV2, usdg: tokenIn, weth: tokenOut } = deployment;
  return planCurves(deployment, basket, (fee) => {
    const hop = { tokenIn, tokenOut, fee };
    const points = amountsFor(usdg).map((amount) => {
      const quote = quoteExactInput(batch, quoterV2, hop, amount);
      return pointOf(quote, (weth) => ({ usdg: amount, weth }));
    });
    // One base unit is all fee, and moves nothing.
    return [pointOf(quoteExactInput(batch, quoterV2, hop, 1n), nothing), ...points];
  });
}

/** Curves of selling WETH for up to about `usdg` in all; null: nobody knows. */
export function planSellCurves(
  batch: ReadBatch,
  deployment: Deployment,
  basket: QuotedBasket,
  usdg: bigint | null,
): () => WethCurves {
  const { quoterV2, usdg: tokenOut, weth: tokenIn } = deployment;
  return planCurves(deployment, basket, (fee) => {
    const hop = { tokenIn, tokenOut, fee };
    const amounts = usdg === null ? AMOUNTS_OF_ANY_TRADE : amountsFor(usdg);
    const points = amounts.map((amount) => {
      const quote = quoteExactOutput(batch, quoterV2, hop, amount);
      return pointOf(quote, (weth) => ({ usdg: amount, weth }));
    });
    return [pointOf(quoteExactInput(batch, quoterV2, hop, 1n), nothing), ...points];
  });
}

type PendingPoint = () => CurvePoint | null;
type Amounts = Pick<CurvePoint, 'usdg' | 'weth'>;

const nothing = (): Amounts => ({ usdg: 0n, weth: 0n });

function amountsFor(usdg: bigint): bigint[] {
  return AMOUNTS_BPS.map((bps) => mulDivUp(usdg, bps, 10_000n) + 1n);
}

function pointOf(pending: PendingQuote, amounts: (quoted: bigint) => Amounts): PendingPoint {
  return () => {
    const quote = pending();
    if (quote === null) return null;
    const { amount, sqrtPrice, crossed } = quote;
    return { ...amounts(amount), sqrtPrice, crossed };
  };
}

function planCurves(
  deployment: Deployment,
  basket: QuotedBasket,
  plan: (fee: number) => PendingPoint[],
): () => WethCurves {
  const usdgFirst = BigInt(deployment.usdg) < BigInt(deployment.weth);
  const pending = tiersOf(basket, deployment).map((fee) => ({ fee, points: plan(fee) }));
  return () => {
    const curves = new Map<number, WethCurve>();
    for (const { fee, points } of pending) {
      const known = untilNull(points);
      const goesOn = known.length === points.length;
      if (known.length > 1) curves.set(fee, new WethCurve({ fee, usdgFirst }, known, goesOn));
    }
    return curves;
  };
}

/** A pool that cannot serve one amount serves no larger one. */
function untilNull(points: readonly PendingPoint[]): CurvePoint[] {
  const known: CurvePoint[] = [];
  for (const pending of points) {
    const point = pending();
    if (point === null) break;
    known.push(point);
  }
  return known;
}

function tiersOf(basket: QuotedBasket, deployment: Deployment): number[] {
  const tiers = basket.constituents.flatMap(({ routes }) =>
    routes.flatMap((route) => wethTierOf(deployment, route) ?? []),
  );
  return [...new Set(tiers)];
}
