/** Open orders as wire.md shows them. */
import { toNumber } from '../../contracts-abi/rounding.ts';
import { exitKind } from '../builds/exit.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Order } from './order-index.ts';

const price = (nav: bigint) => (nav === 0n ? null : toNumber(nav, 18));

export function orderJson(order: Order, catalog: Catalog) {
  const { id, escrow, deadline } = order;
  const ticker = catalog.byVault(order.vault)?.ticker ?? null;
  if (order.kind === 'exit') {
    return {
      id,
      escrow,
      ticker,
      shares: toNumber(order.amount, 18),
      stopNav: price(order.stopNav),
      tpNav: price(order.tpNav),
      kind: exitKind(order.stopNav, order.tpNav),
      deadline,
    };
  }
  return {
    id,
    escrow,
    ticker,
    amountUsdg: toNumber(order.amount, 6),
    triggerNav: price(order.triggerNav),
    // A limit buy only ever triggers downwards here; the key is part of the wire format.
    triggerBelow: true,
    deadline,
    kind: 'limit_buy' as const,
  };
}
