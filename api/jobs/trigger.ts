/** Whether an order's trigger holds, as the escrows decide it (protocol.md, Semantics decided: Trigger). Pure. */
import type { Order } from '../orders/order-index.ts';

/** @param referenceNav valid 10-minute average NAV, dollars x 1e18. */
export function triggerHolds(order: Order, referenceNav: bigint): boolean {
  if (order.kind === 'limit') return order.triggerNav === 0n || referenceNav <= order.triggerNav;
  return referenceNav <= order.stopNav || (order.tpNav !== 0n && referenceNav >= order.tpNav);
}

/** True from the deadline on: the order can only be sent back. */
export function isExpired(order: Order, chainTime: number): boolean {
  return chainTime >= order.deadline;
}
