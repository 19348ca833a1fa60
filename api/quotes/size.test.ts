import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CostSample, sizeByBudget } from './size.ts';

/** A convex cost: what a pool of this depth asks for n shares, rounded up. */
const cost = (price: bigint, depth: bigint) => (shares: bigint) =>
  price * shares + (shares * shares) / depth + 1n;

type Pool = { price: bigint; depth: bigint };
const pool = fc.record({
  price: fc.bigInt({ min: 1n, max: 1_000n }),
  depth: fc.bigInt({ min: 1n, max: 10n ** 6n }),
});
const basket = fc.array(fc.array(pool, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 6,
});

function sample(pools: Pool[][], shares: bigint): CostSample {
  return {
    shares,
    costs: pools.map((routes) => routes.map(({ price, depth }) => cost(price, depth)(shares))),
  };
}

describe('sizing by a budget', () => {
  it('never spends more than the budget, and every leg backs the shares that it promises', () => {
    fc.assert(
      fc.property(basket, fc.bigInt({ min: 100n, max: 10n ** 9n }), (pools, budget) => {
        const guess = budget / 100n + 1n;
        const sizes = [guess, guess * 2n, guess * 5n, guess * 50n];
        const sized = sizeByBudget(
          sizes.map((shares) => sample(pools, shares)),
          budget,
        );
        expect(sized.tag).toBe('sized');
        if (sized.tag !== 'sized') return;
        const spent = sized.legs.reduce((sum, { amountIn }) => sum + amountIn, 0n);
        expect(spent).toBe(sized.spent);
        expect(spent).toBeLessThanOrEqual(budget);
        sized.legs.forEach(({ route, amountIn }, constituent) => {
          const chosen = pools[constituent]?.[route];
          if (chosen === undefined) throw new Error('a route that does not exist');
          // One base unit more than the pool's own rounding, which the sampled costs already carry.
          const needed = sized.shares === 0n ? 0n : cost(chosen.price, chosen.depth)(sized.shares);
          expect(amountIn + 1n).toBeGreaterThanOrEqual(needed - 1n);
        });
      }),
    );
  });

  it('spends nearly all of it between two sizes', () => {
    const pools = [[{ price: 100n, depth: 1_000_000n }], [{ price: 300n, depth: 1_000_000n }]];
    const samples = [9_000n, 11_000n].map((shares) => sample(pools, shares));
    const sized = sizeByBudget(samples, 4_000_000n);
    expect(sized).toMatchObject({ tag: 'sized', shares: 9_999n });
    const spent = sized.tag === 'sized' ? sized.spent : 0n;
    expect(spent).toBeGreaterThan(3_999_000n);
  });

  it('scales down from the smallest size, and up from the largest', () => {
    const pools = [[{ price: 100n, depth: 1_000_000n }]];
    const samples = [sample(pools, 1_000n)];
    const below = sizeByBudget(samples, 50_000n);
    expect(below).toMatchObject({ tag: 'sized', shares: 499n });
    const above = sizeByBudget(samples, 150_000n);
    expect(above).toMatchObject({ tag: 'sized', shares: 1_000n, spent: 150_000n });
  });

  it('takes the cheapest route of each constituent', () => {
    const samples = [
      {
        shares: 10n,
        costs: [
          [200n, 100n, null],
          [null, 50n],
        ],
      },
    ];
    expect(sizeByBudget(samples, 150n)).toMatchObject({
      legs: [
        { route: 1, amountIn: 100n },
        { route: 1, amountIn: 50n },
      ],
    });
  });

  it('names the constituent that no route can serve, however small', () => {
    const samples = [
      { shares: 10n, costs: [[200n], [null, null]] },
      { shares: 20n, costs: [[400n], [null, null]] },
    ];
    expect(sizeByBudget(samples, 1_000n)).toEqual({ tag: 'no_route', constituent: 1 });
  });

  it('uses the sizes that all can serve when the largest cannot', () => {
    const samples = [
      { shares: 10n, costs: [[100n], [100n]] },
      { shares: 20n, costs: [[200n], [null]] },
    ];
    expect(sizeByBudget(samples, 300n)).toMatchObject({ tag: 'sized', shares: 10n });
  });
});
