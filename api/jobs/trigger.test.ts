import { describe, expect, it } from 'vitest';
import type { Order } from '../orders/order-index.ts';
import { isExpired, triggerHolds } from './trigger.ts';

const order: Order = {
  id: `0x${'01'.repeat(32)}`,
  escrow: `0x${'02'.repeat(20)}`,
  kind: 'exit',
  owner: `0x${'03'.repeat(20)}`,
  vault: `0x${'04'.repeat(20)}`,
  amount: 1n,
  stopNav: 0n,
  tpNav: 0n,
  triggerNav: 0n,
  deadline: 1_000,
  closedAs: null,
};

describe('triggers', () => {
  it.each([
    ['stop', { stopNav: 90n }, 91n, false],
    ['stop', { stopNav: 90n }, 90n, true],
    ['take-profit', { tpNav: 110n }, 109n, false],
    ['take-profit', { tpNav: 110n }, 110n, true],
    ['bracket between', { stopNav: 90n, tpNav: 110n }, 100n, false],
    ['bracket below', { stopNav: 90n, tpNav: 110n }, 89n, true],
    ['bracket above', { stopNav: 90n, tpNav: 110n }, 111n, true],
    ['limit', { kind: 'limit' as const, triggerNav: 90n }, 91n, false],
    ['limit', { kind: 'limit' as const, triggerNav: 90n }, 90n, true],
    ['limit without a trigger', { kind: 'limit' as const }, 10n ** 30n, true],
  ])('%s %o at %s: %s', (_name, terms, nav, holds) => {
    expect(triggerHolds({ ...order, ...terms }, nav)).toBe(holds);
  });

  it('end with the deadline, inclusive', () => {
    expect(isExpired(order, 999)).toBe(false);
    expect(isExpired(order, 1_000)).toBe(true);
  });
});
