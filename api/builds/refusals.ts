/** Refusals that several builds share, in the same words. */
import { formatDecimal } from '../../contracts-abi/rounding.ts';
import { ApiError, type StatusOverride } from '../../runtime/errors.ts';
import type { Basket } from '../catalog/catalog.ts';
import type { BasketMark } from '../marks/snapshot.ts';
import type { NoRoute } from '../../runtime/quotes/basket-quote.ts';

export function noRoute(basket: Basket, missing: NoRoute): ApiError {
  return new ApiError(
    'NO_ROUTE',
    `${basket.ticker} cannot be traded now: ${missing.symbol} has no route for this amount; nothing partial is built`,
  );
}

/** 400 on wallet routes, 422 on agent routes (wire.md, Errors). */
export function insufficientShares(
  held: bigint,
  needed: bigint,
  status: StatusOverride = 400,
): ApiError {
  const shares = (amount: bigint) => formatDecimal(amount, 18);
  return new ApiError(
    'INSUFFICIENT_SHARES',
    held === 0n
      ? 'the address holds no shares of this basket'
      : `the address holds ${shares(held)} shares and this needs ${shares(needed)}`,
    { status },
  );
}

/** Reasons that no waiting cures: somebody must change a pool first. */
const STRUCTURAL = new Set(['NoPool', 'Cardinality']);

/**
 * Refuses baskets that are not set up for automated orders. A reference that is merely invalid at this moment is a
 * warning (wire.md): returns its words, or null when the reference holds.
 * @throws ApiError NO_REFERENCE.
 */
export function requireOrders(basket: Basket, mark: BasketMark): string | null {
  const { reference } = mark;
  const structural = !reference.ok && STRUCTURAL.has(reference.reason);
  if (!basket.ordersEnabled || structural) {
    throw new ApiError(
      'NO_REFERENCE',
      `${basket.ticker} is not set up for automated orders: it has no 10-minute average NAV to trigger on`,
    );
  }
  return reference.ok
    ? null
    : `there is no valid 10-minute average NAV at this moment (${reference.reason}): the order rests until there is one`;
}

/** Words for an order that nothing fills for now; null while the protocol is not paused. */
export function restsWhilePaused({ paused }: { paused: boolean }): string | null {
  return paused
    ? 'the protocol is paused: the order can be placed and cancelled, and nothing fills before the pause ends'
    : null;
}
