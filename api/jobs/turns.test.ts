import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparePlaces, type FetchDue, type Place, START, takeTurn } from './turns.ts';

type Due = { place: Place };

const due = (block: number, log = 0): Due => ({ place: { block, log } });

function fetchFrom(all: readonly Due[]): FetchDue<Due> {
  const sorted = all.toSorted((a, b) => comparePlaces(a.place, b.place));
  return async (after, limit) =>
    sorted.filter(({ place }) => comparePlaces(place, after) > 0).slice(0, limit);
}

const blocks = (items: readonly Due[]) => items.map(({ place }) => place.block);

describe('turns', () => {
  it('examine everything in every scan while it fits', async () => {
    const fetch = fetchFrom([due(3), due(1), due(2, 5), due(2, 4)]);
    let from: Place = START;
    for (let scan = 0; scan < 3; scan += 1) {
      const turn = await takeTurn(fetch, from, 4, 2);
      expect(blocks(turn.now)).toEqual([1, 2, 2, 3]);
      expect(turn.now[1]?.place.log).toBe(4);
      expect(turn.waiting).toEqual([]);
      from = turn.next(turn.now.length);
    }
  });

  it('go round when it does not fit, and tell who waits', async () => {
    const fetch = fetchFrom([1, 2, 3, 4, 5].map((block) => due(block)));
    const first = await takeTurn(fetch, START, 2, 1);
    expect([blocks(first.now), blocks(first.waiting)]).toEqual([[1, 2], [3]]);
    const second = await takeTurn(fetch, first.next(2), 2, 1);
    expect([blocks(second.now), blocks(second.waiting)]).toEqual([[3, 4], [5]]);
    const third = await takeTurn(fetch, second.next(2), 2, 1);
    expect([blocks(third.now), blocks(third.waiting)]).toEqual([[5, 1], [2]]);
    // Cut short, a scan counts for what it examined; when it examined nothing it is made again.
    expect(third.next(1)).toEqual({ block: 5, log: 0 });
    expect(third.next(0)).toEqual({ block: 4, log: 0 });
  });

  it('reach everything that stays due within a round, whatever else comes and goes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 3 }),
        fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 30 }),
        fc.array(fc.uniqueArray(fc.integer({ min: 41, max: 60 }), { maxLength: 5 })),
        async (size, shown, lasting, passing) => {
          const seen = new Set<number>();
          let from: Place = START;
          const rounds = Math.ceil((lasting.length + 5) / size) + 1;
          for (let scan = 0; scan < rounds; scan += 1) {
            const others = passing[scan % Math.max(passing.length, 1)] ?? [];
            const fetch = fetchFrom([...lasting, ...others].map((block) => due(block)));
            const turn = await takeTurn(fetch, from, size, shown);
            expect(turn.now.length).toBeLessThanOrEqual(size);
            expect(new Set(blocks(turn.now)).size).toBe(turn.now.length);
            for (const block of blocks(turn.now)) seen.add(block);
            from = turn.next(turn.now.length);
          }
          for (const block of lasting) expect(seen.has(block)).toBe(true);
        },
      ),
    );
  });
});
