/** Fills of a book against all fills that the market would take, counted one dollar-ten at a time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fillOffers, type OpenOffer } from './fill-offers.ts';

const STEP = 10n;
const NO_CAP = 10n ** 9n;

/** The most that can be filled, and the least premium for it, over every choice of parts in steps of $10. */
function counted(offers: readonly OpenOffer[], wantedUsd: bigint) {
  const steps = Number(wantedUsd / STEP);
  let premiums: (bigint | null)[] = [0n, ...Array.from({ length: steps }, () => null)];
  for (const { openUsd, pricePer1k } of offers) {
    const next = [...premiums];
    premiums.forEach((premium, filled) => {
      if (premium === null) return;
      for (let part = 1n; part * STEP <= openUsd; part += 1n) {
        const coverUsd = part * STEP;
        const at = filled + Number(part);
        if (at > steps) break;
        // CoverBook: $50 or all that is left of it.
        if (coverUsd < 50n && coverUsd !== openUsd) continue;
        const total = premium + (coverUsd * pricePer1k) / 1_000n;
        const known = next[at] ?? null;
        if (known === null || total < known) next[at] = total;
      }
    });
    premiums = next;
  }
  const filled = premiums.findLastIndex((premium) => premium !== null);
  return { filledUsd: BigInt(filled) * STEP, premium: premiums[filled] ?? 0n };
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
  test('is the most that the market would sell, for the least', () => {
    fc.assert(
      fc.property(bookOf(4), fc.integer({ min: 5, max: 60 }), (offers, steps) => {
        const wanted = BigInt(steps) * STEP;
        const { filledUsd, premium } = fillOffers(offers, wanted, NO_CAP);
        expect({ filledUsd, premium }).toEqual(counted(offers, wanted));
      }),
      { numRuns: 3_000 },
    );
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
