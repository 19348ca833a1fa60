import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { apply, type Basis, type Entry, NOTHING, pricePerShare, valueOf } from './cost-basis.ts';

const SHARE = 10n ** 18n;
const USD = 1_000_000n;

const fold = (entries: readonly Entry[], from: Basis = NOTHING) => entries.reduce(apply, from);

const amount = (max: bigint) => fc.bigInt({ min: 0n, max });
const shares = amount(10n ** 27n);
const usdg = amount(10n ** 16n);
const buy = fc.record({ tag: fc.constant('buy' as const), shares, paid: usdg });
const sell = fc.record({ tag: fc.constant('sell' as const), shares, received: usdg });
const moveIn = fc.record({ tag: fc.constant('in' as const), shares, value: usdg });
const moveOut = fc.record({ tag: fc.constant('out' as const), shares });
const nav = amount(10n ** 24n);

/** What is sold is held: a chain allows no other sale. */
function feasible(entries: readonly Entry[]): Entry[] {
  let held = 0n;
  return entries.flatMap((entry): Entry[] => {
    if (entry.tag === 'buy' || entry.tag === 'in') {
      held += entry.shares;
      return [entry];
    }
    const gone = entry.shares > held ? held : entry.shares;
    held -= gone;
    return gone === 0n ? [] : [{ ...entry, shares: gone }];
  });
}

describe('average cost', () => {
  it('of two buys is the mean, weighted; a sale realises against it and leaves it as it was', () => {
    const basis = fold([
      { tag: 'buy', shares: SHARE, paid: 100n * USD },
      { tag: 'buy', shares: 3n * SHARE, paid: 500n * USD },
    ]);
    expect(pricePerShare(basis.shares, basis.cost)).toBe(150n * SHARE);
    const sold = apply(basis, { tag: 'sell', shares: SHARE, received: 170n * USD });
    expect(sold).toEqual({ shares: 3n * SHARE, cost: 450n * USD, realized: 20n * USD });
  });

  it('leaves nothing behind when everything is sold', () => {
    const basis = fold([
      { tag: 'buy', shares: 3n, paid: 10n },
      { tag: 'sell', shares: 1n, received: 3n },
      { tag: 'sell', shares: 2n, received: 7n },
    ]);
    expect(basis).toEqual({ shares: 0n, cost: 0n, realized: 0n });
    expect(pricePerShare(basis.shares, basis.cost)).toBeNull();
  });

  it('rounds the realised part down: the cost that leaves rounds up', () => {
    const basis = apply(
      { shares: 3n, cost: 10n, realized: 0n },
      { tag: 'sell', shares: 1n, received: 4n },
    );
    expect(basis).toEqual({ shares: 2n, cost: 6n, realized: 0n });
  });

  it('a transfer in gains nothing, a transfer out realises nothing', () => {
    const basis = fold([
      { tag: 'in', shares: SHARE, value: 100n * USD },
      { tag: 'buy', shares: SHARE, paid: 300n * USD },
      { tag: 'out', shares: SHARE },
    ]);
    expect(basis).toEqual({ shares: SHARE, cost: 200n * USD, realized: 0n });
  });

  it('shares from before the index were worth what they were sold for', () => {
    const sale: Entry = { tag: 'sell', shares: 4n * SHARE, received: 400n * USD };
    expect(apply(NOTHING, sale)).toEqual(NOTHING);
    const half = apply({ shares: 2n * SHARE, cost: 150n * USD, realized: 0n }, sale);
    expect(half).toEqual({ shares: 0n, cost: 0n, realized: 50n * USD });
  });
});

describe('for any history', () => {
  it('of buys and sales: realised + unrealised = value - net paid, to the base unit', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(buy, sell), { maxLength: 40 }), nav, (raw, price) => {
        const entries = feasible(raw);
        const basis = fold(entries);
        const value = valueOf(basis.shares, price);
        const netPaid = entries.reduce(
          (sum, entry) =>
            entry.tag === 'buy'
              ? sum + entry.paid
              : entry.tag === 'sell'
                ? sum - entry.received
                : sum,
          0n,
        );
        expect(basis.realized + (value - basis.cost)).toBe(value - netPaid);
      }),
    );
  });

  it('cost and shares never fall below zero, and no shares cost nothing unless they were paid for', () => {
    const any = fc.oneof(buy, sell, moveIn, moveOut);
    fc.assert(
      fc.property(fc.array(any, { maxLength: 40 }), (entries) => {
        let basis = NOTHING;
        for (const entry of entries) {
          const before = basis;
          basis = apply(basis, entry);
          expect(basis.shares >= 0n && basis.cost >= 0n).toBe(true);
          if (entry.tag === 'out') expect(basis.realized).toBe(before.realized);
          if (entry.tag !== 'buy' && entry.tag !== 'in' && basis.shares === 0n) {
            expect(before.shares === 0n || basis.cost === 0n).toBe(true);
          }
        }
      }),
    );
  });
});
