/** Fills of a book against all fills that the market would take, counted one dollar-ten at a time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fillOffers, type OpenOffer, shortlist } from './fill-offers.ts';

const STEP = 10n;
const NO_CAP = 10n ** 9n;

/** The most that can be filled of at most `most` parts, and the least premium for it, over every choice in steps of $10. */
function counted(offers: readonly OpenOffer[], wantedUsd: bigint, most: number) {
  const steps = Number(wantedUsd / STEP);
  /** Premiums by what is filled, of so many parts. */
  let byCount: (bigint | null)[][] = Array.from({ length: most + 1 }, (_, parts) =>
    Array.from({ length: steps + 1 }, (_, filled) => (parts + filled === 0 ? 0n : null)),
  );
  for (const offer of offers) {
    byCount = byCount.map((known, parts) => {
      const next = [...known];
      for (const [filled, premium] of (byCount[parts - 1] ?? []).entries()) {
        if (premium === null) continue;
        for (const { part, cost } of partsOf(offer)) {
          const at = filled + part;
          if (at > steps) break;
          const total = premium + cost;
          const least = next[at] ?? null;
          if (least === null || total < least) next[at] = total;
        }
      }
      return next;
    });
  }
  const premiums = Array.from({ length: steps + 1 }, (_, filled) =>
    byCount.reduce<bigint | null>((least, { [filled]: premium = null }) => {
      if (premium === null) return least;
      return least === null || premium < least ? premium : least;
    }, null),
  );
  const filled = premiums.findLastIndex((premium) => premium !== null);
  return { filledUsd: BigInt(filled) * STEP, premium: premiums[filled] ?? 0n };
}

/** What the market sells of an offer, in steps of $10 (CoverBook: $50 or all that is left of it). */
function partsOf({ openUsd, pricePer1k }: OpenOffer): { part: number; cost: bigint }[] {
  return Array.from({ length: Number(openUsd / STEP) }, (_, index) => BigInt(index + 1) * STEP)
    .filter((coverUsd) => coverUsd >= 50n || coverUsd === openUsd)
    .map((coverUsd) => ({
      part: Number(coverUsd / STEP),
      cost: (coverUsd * pricePer1k) / 1_000n,
    }));
}

const byPrice = (prices: readonly { cents: number; steps: number }[]): OpenOffer[] =>
  prices
    .map(({ cents, steps }, index) => ({
      id: BigInt(index + 1),
      pricePer1k: BigInt(cents) * 10_000n,
      openUsd: BigInt(steps) * STEP,
    }))
    .toSorted((a, b) => Number(a.pricePer1k - b.pricePer1k));

/** A fill passes over three offers at most: of four that reaches every choice. */
const bookOf = (maxLength: number) =>
  fc
    .array(
      fc.record({
        cents: fc.integer({ min: 1, max: 3_000 }),
        steps: fc.integer({ min: 1, max: 20 }),
      }),
      { maxLength },
    )
    .map(byPrice);

describe('a fill', () => {
  test('is the most that the market would sell in so many parts, for the least', () => {
    const limits = fc.record({
      steps: fc.integer({ min: 5, max: 60 }),
      most: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(bookOf(4), limits, (offers, { steps, most }) => {
        const wanted = BigInt(steps) * STEP;
        const { filledUsd, premium } = fillOffers(offers, wanted, NO_CAP, most);
        expect({ filledUsd, premium }).toEqual(counted(offers, wanted, most));
      }),
      { numRuns: 3_000 },
    );
  });

  test('reaches as far as the largest offers do, however many smaller ones are cheaper', () => {
    const offer = fc.record({
      cents: fc.integer({ min: 1, max: 3_000 }),
      steps: fc.integer({ min: 5, max: 200 }),
    });
    const books = fc.array(offer, { minLength: 1, maxLength: 60 }).map(byPrice);
    const limits = fc.record({
      most: fc.integer({ min: 1, max: 20 }),
      above: fc.bigInt(0n, 9_000n),
    });
    fc.assert(
      fc.property(books, limits, (offers, { most, above }) => {
        // So much that no part has to be below the market's minimum.
        const wanted = 50n * BigInt(most) + above;
        const reach = offers
          .map(({ openUsd }) => openUsd)
          .toSorted((a, b) => Number(b - a))
          .slice(0, most)
          .reduce((sum, openUsd) => sum + openUsd, 0n);
        const { filledUsd } = fillOffers(offers, wanted, NO_CAP, most);
        expect(filledUsd).toBe(reach < wanted ? reach : wanted);
      }),
      { numRuns: 500 },
    );
  });

  test('keeps of the cheap ones what saves most where there are more than an action takes', () => {
    const crumbs = Array.from({ length: 20 }, () => ({ cents: 1, openUsd: 1n }));
    const offers = [...crumbs, { cents: 600, openUsd: 10_000n }].map(
      ({ cents, openUsd }, index) => ({
        id: BigInt(index + 1),
        pricePer1k: BigInt(cents) * 10_000n,
        openUsd,
      }),
    );
    const { filledUsd, parts } = fillOffers(offers, 200n, NO_CAP);
    expect([filledUsd, parts.length]).toEqual([200n, 20]);
    expect(parts.at(-1)).toEqual({ id: 21n, pricePer1k: 6_000_000n, coverUsd: 181n });
    const few = byPrice([
      { cents: 100, steps: 5 },
      { cents: 101, steps: 5 },
      { cents: 500, steps: 6 },
      { cents: 600, steps: 100 },
    ]);
    expect(fillOffers(few, 500n, NO_CAP, 2).parts).toEqual([
      { id: 1n, pricePer1k: 1_000_000n, coverUsd: 50n },
      { id: 4n, pricePer1k: 6_000_000n, coverUsd: 450n },
    ]);
  });

  test('is made of the cheapest and of the largest of a range', () => {
    const offers = byPrice(
      Array.from({ length: 200 }, (_, at) => ({ cents: at + 1, steps: at + 1 })),
    );
    const ids = shortlist(offers).map(({ id }) => Number(id));
    const run = (from: number) => Array.from({ length: 40 }, (_, at) => from + at);
    expect(ids).toEqual([...run(1), ...run(161)]);
    expect(shortlist(offers.slice(0, 3))).toEqual(offers.slice(0, 3));
  });

  test('is made of parts that the market sells, never above the cap or the count, each with its own fee', () => {
    const limits = fc.record({
      wanted: fc.bigInt(50n, 2_000n),
      cap: fc.bigInt(0n, 1_500n),
      most: fc.integer({ min: 1, max: 8 }),
    });
    fc.assert(
      fc.property(bookOf(8), limits, (offers, { wanted, cap, most }) => {
        const filled = fillOffers(offers, wanted, cap, most);
        const open = new Map(offers.map((offer) => [offer.id, offer]));
        let [cover, premium, fee] = [0n, 0n, 0n];
        for (const { id, coverUsd, pricePer1k } of filled.parts) {
          const offer = open.get(id);
          expect(offer?.pricePer1k).toBe(pricePer1k);
          expect(coverUsd >= 50n || coverUsd === offer?.openUsd).toBe(true);
          expect(coverUsd <= (offer?.openUsd ?? 0n)).toBe(true);
          open.delete(id);
          const own = (coverUsd * pricePer1k) / 1_000n;
          cover += coverUsd;
          premium += own;
          fee += (own + 99n) / 100n;
        }
        expect(filled.parts.length).toBeLessThanOrEqual(most);
        expect(cover <= wanted && cover <= cap).toBe(true);
        expect({ ...filled, parts: [] }).toEqual({
          parts: [],
          filledUsd: cover,
          premium,
          fee,
          cost: premium + fee,
        });
      }),
      { numRuns: 3_000 },
    );
  });

  test('passes over what would leave too little for the next offer', () => {
    const offers = byPrice([
      { cents: 40, steps: 5 },
      { cents: 240, steps: 18 },
    ]);
    expect(fillOffers(offers, 90n, NO_CAP).parts).toEqual([
      { id: 2n, pricePer1k: 2_400_000n, coverUsd: 90n },
    ]);
  });
});
