import { FeeAmount } from '@uniswap/v3-sdk';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mulDivUp } from '../../contracts-abi/rounding.ts';
import { curveOf, sceneOf, TestPool } from './pool-fixture.ts';
import { Purchase, type RouteOffer, sumOf } from './purchase.ts';
import { sizeByBudget, sizeOf, spendAll } from './size.ts';
import type { WethCurve } from './weth-curve.ts';

type Pool = { price: bigint; depth: bigint };
type Part = { perShare: bigint; pools: Pool[] };

/** A convex cost in base units of the token: what a pool of this depth asks for so many, rounded up. */
const cost = ({ price, depth }: Pool, units: bigint) =>
  units === 0n ? 0n : mulDivUp(units * price, depth + units, depth);

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

const unitsOf = ({ perShare }: Part, shares: bigint) => mulDivUp(perShare, shares, SCALE);

/** @param most more shares than these no pool serves. */
function purchaseOf(parts: readonly Part[], most: bigint | null = null): Purchase {
  const priced = parts.map((each) => ({
    unitsFor: (shares: bigint) => unitsOf(each, shares),
    routes: each.pools.map((pool): RouteOffer => {
      const served = (units: bigint) => most === null || units <= unitsOf(each, most);
      return { tier: null, cost: (units) => (served(units) ? cost(pool, units) : null) };
    }),
  }));
  return new Purchase(priced, new Map());
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
        const sized = spendAll(purchaseOf(parts), sizes, budget);
        expect(sized.tag).toBe('sized');
        if (sized.tag !== 'sized') return;
        expect(sumOf(sized.legs)).toBe(sized.spent);
        expect(sized.spent).toBeLessThanOrEqual(budget);
        sized.legs.forEach(({ route, amountIn }, constituent) => {
          const bought = parts[constituent];
          const chosen = bought?.pools[route];
          if (bought === undefined || chosen === undefined) throw new Error('no such route');
          const needed = cost(chosen, unitsOf(bought, sized.shares));
          expect(amountIn).toBeGreaterThanOrEqual(needed);
        });
      }),
    );
  });

  it('spends the budget between two sizes, but for what a unit costs', () => {
    const purchase = purchaseOf([flat(100n), flat(300n)]);
    expect(sizeByBudget(purchase, [9_000n, 11_000n], 4_000_399n)).toMatchObject({
      tag: 'sized',
      shares: 10_000n,
    });
  });

  it('of whole units worth more than all the rest takes the size that they allow', () => {
    // A tenth of a unit a share: 10 shares take one whole unit at 5,000, 11 take two.
    const coarse: Part = { perShare: SCALE / 10n, pools: [{ price: 5_000n, depth: 10n ** 18n }] };
    const sized = sizeByBudget(purchaseOf([coarse, flat(1n)]), [1n, 40n], 10_025n);
    expect(sized).toMatchObject({ tag: 'sized', shares: 20n });
  });

  it('scales down from the smallest size, and up from the largest', () => {
    const purchase = purchaseOf([flat(100n)]);
    const below = spendAll(purchase, [1_000n], 50_000n);
    expect(below).toMatchObject({ tag: 'sized', shares: 499n });
    const above = spendAll(purchase, [1_000n], 150_000n);
    expect(above).toMatchObject({ tag: 'sized', shares: 1_000n, spent: 150_000n });
    // Of an exact size everything costs what it costs.
    expect(sizeOf(purchase, 1_000n)).toMatchObject({ shares: 1_000n, spent: 100_001n });
  });

  it('takes the cheapest route of each constituent', () => {
    const constant = (amount: bigint | null): RouteOffer => ({ tier: null, cost: () => amount });
    const purchase = new Purchase(
      [
        { unitsFor: () => 1n, routes: [constant(200n), constant(100n), constant(null)] },
        { unitsFor: () => 1n, routes: [constant(null), constant(50n)] },
      ],
      new Map(),
    );
    expect(sizeByBudget(purchase, [10n], 150n)).toMatchObject({
      legs: [
        { route: 1, amountIn: 100n },
        { route: 1, amountIn: 50n },
      ],
    });
  });

  it('names the constituent that no route can serve, however small', () => {
    const none: RouteOffer = { tier: null, cost: () => null };
    const purchase = new Purchase(
      [
        { unitsFor: () => 1n, routes: [{ tier: null, cost: () => 200n }] },
        { unitsFor: () => 1n, routes: [none, none] },
      ],
      new Map(),
    );
    const unserved = { tag: 'no_route', constituent: 1 };
    expect(sizeByBudget(purchase, [10n, 20n], 1_000n)).toEqual(unserved);
    expect(sizeOf(purchase, 10n)).toEqual(unserved);
  });

  it('uses the sizes that all can serve when the largest cannot', () => {
    const purchase = purchaseOf([flat(100n), flat(100n)], 15n);
    expect(sizeByBudget(purchase, [10n, 20n], 10_000n)).toMatchObject({
      tag: 'sized',
      shares: 15n,
    });
  });
});

describe('a basket whose legs share a WETH pool', () => {
  const shared = fc.array(
    fc.record({
      /** Thousandths of the budget, and a direct route dearer or cheaper by so many basis points. */
      weight: fc.bigInt({ min: 10n, max: 400n }),
      dearer: fc.bigInt({ min: -30n, max: 60n }),
      depth: fc.bigInt({ min: 20n, max: 2_000n }),
    }),
    { minLength: 1, maxLength: 6 },
  );

  /** Percent of the sizes that the budget is for: where prices fell since, all of them fit. */
  const known = fc.oneof(fc.constant(100n), fc.bigInt({ min: 30n, max: 100n }));

  it('pays each leg enough for its part, whatever route it takes at which size', async () => {
    await fc.assert(
      fc.asyncProperty(sceneOf(4), shared, known, async (scene, parts, percent) => {
        const { usdg: budget, usdgFirst } = scene;
        const all = (await scene.pool.exactInput(usdgFirst, budget))?.amount ?? 0n;
        // A unit is a wei of WETH behind the shared pool, or its price in dollars from a pool of its own.
        const weights = parts.reduce((sum, { weight }) => sum + weight, 0n);
        const priced = parts.map(({ weight, dearer, depth }) => {
          const unitsFor = (shares: bigint) => mulDivUp(shares, weight, weights) + 1n;
          const own = (units: bigint) => {
            const fair = mulDivUp(units * budget, 10_000n + dearer, all * 10_000n);
            return mulDivUp(fair, depth * budget + fair, depth * budget);
          };
          const through: RouteOffer = { tier: scene.fee, cost: (units) => units };
          return { unitsFor, routes: [{ tier: null, cost: own }, through] };
        });
        const curves = new Map<number, WethCurve>([[scene.fee, await curveOf(scene, 'buy')]]);
        const sizes = [8_800n, 9_700n, 9_950n, 10_200n].map(
          (bps) => (all * bps * percent) / 1_000_000n + 1n,
        );
        const sized = spendAll(new Purchase(priced, curves), sizes, budget);
        if (sized.tag !== 'sized') throw new Error(sized.tag);
        expect(sized.spent).toBeLessThanOrEqual(budget);
        let { pool } = scene;
        for (const [index, { route, amountIn }] of sized.legs.entries()) {
          const units = priced[index]?.unitsFor(sized.shares) ?? 0n;
          if (route === 0) {
            expect(amountIn).toBeGreaterThanOrEqual(priced[index]?.routes[0]?.cost(units) ?? 0n);
            continue;
          }
          const swapped = await pool.exactInput(usdgFirst, amountIn);
          if (swapped === null) throw new Error('the pool does not take what the quote says');
          expect(swapped.amount).toBeGreaterThanOrEqual(units);
          pool = swapped.after;
        }
        expect(sized.shares).toBeGreaterThan(0n);
      }),
      { numRuns: 200 },
    );
  });

  it('leaves of the budget what would push one leg past the price that another needs', async () => {
    const fee = FeeAmount.LOW;
    const thick = { below: 5, above: 1, liquidity: 2n * 10n ** 18n };
    const thin = { below: 60_000, above: 60_000, liquidity: 54n * 10n ** 13n };
    const pool = TestPool.at(fee, 196_000, 50n, [thin, thick]);
    // Twice what both legs cost: the thick range serves both of them, but not both twice.
    const budget = 4n * 10n ** 11n;
    const curve = await curveOf({ pool, fee, usdgFirst: true, usdg: budget }, 'buy');
    const all = (await pool.exactInput(true, budget / 2n))?.amount ?? 0n;
    const needed = [(all * 53n) / 100n, (all * 47n) / 100n];
    const through: RouteOffer = { tier: fee, cost: (units) => units };
    const legs = needed.map((units) => ({ unitsFor: () => units, routes: [through] }));
    const sized = spendAll(
      new Purchase(legs, new Map<number, WethCurve>([[fee, curve]])),
      [1n],
      budget,
    );
    if (sized.tag !== 'sized') throw new Error(sized.tag);
    const first = await pool.exactInput(true, sized.legs[0]?.amountIn ?? 0n);
    const second = await first?.after.exactInput(true, sized.legs[1]?.amountIn ?? 0n);
    expect(first?.amount).toBeGreaterThanOrEqual(needed[0] ?? 0n);
    expect(second?.amount).toBeGreaterThanOrEqual(needed[1] ?? 0n);
  });
});
