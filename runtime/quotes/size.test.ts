import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mulDivUp } from '../../contracts-abi/rounding.ts';
import { type CostSample, sizeByBudget, type UnitsFor } from './size.ts';

/** A convex cost in base units of the token: what a pool of this depth asks for so many, rounded up. */
const cost = ({ price, depth }: Pool, units: bigint) =>
  units === 0n ? 0n : mulDivUp(units * price, depth + units, depth);

type Pool = { price: bigint; depth: bigint };
type Part = { perShare: bigint; pools: Pool[] };

/** Coarse tokens: a unit costs up to 5,000 base units of USDG, as one of a bitcoin does. */
const part = fc.record({
  perShare: fc.bigInt({ min: 1n, max: 10n ** 6n }),
  pools: fc.array(
    fc.record({
      price: fc.bigInt({ min: 1n, max: 5_000n }),
      depth: fc.bigInt({ min: 10n ** 4n, max: 10n ** 9n }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});
const basket = fc.array(part, { minLength: 1, maxLength: 6 });
/** perShare is units per so many shares. */
const SCALE = 10n ** 6n;

const unitsIn =
  (parts: readonly Part[]): UnitsFor =>
  (constituent, shares) =>
    mulDivUp(parts[constituent]?.perShare ?? 0n, shares, SCALE);

function sample(parts: readonly Part[], shares: bigint): CostSample {
  const units = parts.map((_part, index) => unitsIn(parts)(index, shares));
  const costs = parts.map(({ pools }, index) =>
    pools.map((pool) => cost(pool, units[index] ?? 0n)),
  );
  return { shares, units, costs };
}

/** One unit a share, at this price without impact to speak of. */
const flat = (price: bigint): Part => ({
  perShare: SCALE,
  pools: [{ price, depth: 10n ** 18n }],
});

describe('sizing by a budget', () => {
  it('never spends more than the budget, and every leg pays for the whole units that the shares take', () => {
    fc.assert(
      fc.property(basket, fc.bigInt({ min: 100n, max: 10n ** 9n }), (parts, budget) => {
        const guess = budget / 100n + 1n;
        const sizes = [guess, guess * 2n, guess * 5n, guess * 50n];
        const sized = sizeByBudget(
          sizes.map((shares) => sample(parts, shares)),
          budget,
          unitsIn(parts),
        );
        expect(sized.tag).toBe('sized');
        if (sized.tag !== 'sized') return;
        const spent = sized.legs.reduce((sum, { amountIn }) => sum + amountIn, 0n);
        expect(spent).toBe(sized.spent);
        expect(spent).toBeLessThanOrEqual(budget);
        sized.legs.forEach(({ route, amountIn }, constituent) => {
          const chosen = parts[constituent]?.pools[route];
          if (chosen === undefined) throw new Error('a route that does not exist');
          const needed = cost(chosen, unitsIn(parts)(constituent, sized.shares));
          expect(amountIn).toBeGreaterThanOrEqual(needed);
        });
      }),
    );
  });

  it('pays pools that round amount and fee by themselves enough for what it promises', () => {
    const fee = fc.constantFrom(100n, 500n, 3_000n, 10_000n);
    /** Base units of USDG for a trillion of the token. */
    const price = fc.bigInt({ min: 10n ** 5n, max: 10n ** 9n });
    const flatPools = fc.array(fc.record({ price, fee }), { minLength: 1, maxLength: 8 });
    const TRILLION = 10n ** 12n;
    const MILLION = 1_000_000n;
    fc.assert(
      fc.property(flatPools, fc.bigInt({ min: 10n ** 6n, max: 10n ** 9n }), (pools, budget) => {
        const exactOutput = ({ price: at, fee: part }: (typeof pools)[number], units: bigint) => {
          const amount = mulDivUp(units, at, TRILLION);
          return amount + mulDivUp(amount, part, MILLION - part);
        };
        const exactInput = ({ price: at, fee: part }: (typeof pools)[number], amount: bigint) =>
          (((amount * (MILLION - part)) / MILLION) * TRILLION) / at;
        const guess = (budget * TRILLION) / pools.reduce((sum, pool) => sum + pool.price, 0n);
        const samples = [90n, 99n, 110n].map((percent) => {
          const shares = (guess * percent) / 100n;
          return {
            shares,
            units: pools.map(() => shares),
            costs: pools.map((pool) => [exactOutput(pool, shares)]),
          };
        });
        const sized = sizeByBudget(samples, budget, (_constituent, shares) => shares);
        if (sized.tag !== 'sized') throw new Error(sized.tag);
        expect(sized.spent).toBeLessThanOrEqual(budget);
        for (const [index, pool] of pools.entries()) {
          const got = exactInput(pool, sized.legs[index]?.amountIn ?? 0n);
          expect(got).toBeGreaterThanOrEqual(sized.shares);
        }
      }),
    );
  });

  it('spends the budget between two sizes, but for what a unit costs', () => {
    const parts = [flat(100n), flat(300n)];
    const samples = [9_000n, 11_000n].map((shares) => sample(parts, shares));
    expect(sizeByBudget(samples, 4_000_399n, unitsIn(parts))).toMatchObject({
      tag: 'sized',
      shares: 10_000n,
    });
  });

  it('of whole units worth more than all the rest takes the size that they allow', () => {
    // A tenth of a unit a share: 10 shares take one whole unit at 5,000, 11 take two.
    const coarse: Part = { perShare: SCALE / 10n, pools: [{ price: 5_000n, depth: 10n ** 18n }] };
    const parts = [coarse, flat(1n)];
    const samples = [1n, 40n].map((shares) => sample(parts, shares));
    const sized = sizeByBudget(samples, 10_015n, unitsIn(parts));
    if (sized.tag !== 'sized') throw new Error(sized.tag);
    expect(sized.shares).toBeLessThanOrEqual(20n);
    expect(sized.legs[0]?.amountIn).toBeGreaterThanOrEqual(
      unitsIn(parts)(0, sized.shares) * 5_000n,
    );
    expect(sized.spent).toBeLessThanOrEqual(10_015n);
  });

  it('scales down from the smallest size, and up from the largest', () => {
    const parts = [flat(100n)];
    const samples = [sample(parts, 1_000n)];
    const below = sizeByBudget(samples, 50_000n, unitsIn(parts));
    expect(below).toMatchObject({ tag: 'sized', shares: 499n });
    const above = sizeByBudget(samples, 150_000n, unitsIn(parts));
    expect(above).toMatchObject({ tag: 'sized', shares: 1_000n, spent: 150_000n });
  });

  it('takes the cheapest route of each constituent', () => {
    const samples = [
      {
        shares: 10n,
        units: [1n, 1n],
        costs: [
          [200n, 100n, null],
          [null, 50n],
        ],
      },
    ];
    expect(sizeByBudget(samples, 150n, () => 1n)).toMatchObject({
      legs: [
        { route: 1, amountIn: 100n },
        { route: 1, amountIn: 50n },
      ],
    });
  });

  it('names the constituent that no route can serve, however small', () => {
    const samples = [
      { shares: 10n, units: [1n, 1n], costs: [[200n], [null, null]] },
      { shares: 20n, units: [2n, 2n], costs: [[400n], [null, null]] },
    ];
    expect(sizeByBudget(samples, 1_000n, () => 1n)).toEqual({ tag: 'no_route', constituent: 1 });
  });

  it('uses the sizes that all can serve when the largest cannot', () => {
    const samples = [
      { shares: 10n, units: [1n, 1n], costs: [[100n], [100n]] },
      { shares: 20n, units: [2n, 2n], costs: [[200n], [null]] },
    ];
    expect(sizeByBudget(samples, 300n, () => 1n)).toMatchObject({ tag: 'sized', shares: 10n });
  });
});
