import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressOf } from '../firewall/fixture.ts';
import type { CoverType, Work } from '../work.ts';
import { inRounds, MOST_FRUITLESS, takeTurns, Turns } from './turns.ts';

const common = { contract: addressOf(1), ticker: null, vault: addressOf(2), data: '0x' } as const;

const fill = (source: number, key: string, promisedUsdg: bigint): Work => ({
  ...common,
  type: 'sell',
  key,
  source,
  id: '0x01',
  promisedUsdg,
  slippageBps: 0,
  swapCount: 1,
  armData: null,
});
const cover = (source: number, key: string, type: CoverType): Work => ({
  ...common,
  type,
  key,
  source,
  id: key,
  promisedUsdg: 0n,
  week: 1,
  positions: [],
});

function found(...listed: Work[]): Map<string, Work[]> {
  const byKey = new Map<string, Work[]>();
  for (const work of listed) byKey.set(work.key, [...(byKey.get(work.key) ?? []), work]);
  return byKey;
}
const keysOf = (...listed: Work[]): string[] => takeTurns(found(...listed)).map(([key]) => key);

describe('the order in which work is looked at', () => {
  test('is by promise within one source, and by turns between them', () => {
    const promises = [9n, 8n, 7n].map((promise, at) => fill(0, `liar ${at}`, promise));
    expect(keysOf(...promises, fill(1, 'small', 1n), fill(1, 'smaller', 0n))).toEqual([
      'liar 0',
      'small',
      'liar 1',
      'smaller',
      'liar 2',
    ]);
  });

  test.each<CoverType>(['snapshot', 'settle', 'void'])(
    'a %s comes before what its own source pays more for, and before nobody else',
    (type) => {
      expect(
        keysOf(
          fill(0, 'dear', 9n),
          cover(0, 'payout', 'payout'),
          cover(0, 'step', type),
          cover(0, 'another', type),
          fill(1, 'honest', 1n),
        ),
      ).toEqual(['step', 'honest', 'another', 'dear', 'payout']);
    },
  );

  test('begins with the source that is foremost', () => {
    const listed = found(fill(0, 'a', 9n), fill(1, 'b', 9n), fill(2, 'own', 0n));
    expect(takeTurns(listed, 2).map(([key]) => key)).toEqual(['own', 'a', 'b']);
  });

  test('has each job once, and the best of every source among the first', () => {
    const anyWork = fc.record({
      source: fc.nat({ max: 3 }),
      key: fc.nat({ max: 30 }).map(String),
      promise: fc.bigInt({ min: 0n, max: 5n }),
    });
    fc.assert(
      fc.property(fc.array(anyWork, { maxLength: 60 }), (entries) => {
        // One variant of a job per source, as the tick collects them.
        const unique = new Map(entries.map((one) => [`${one.source}/${one.key}`, one]));
        const listed = [...unique.values()].map((one) => fill(one.source, one.key, one.promise));
        const order = keysOf(...listed);
        expect(order.toSorted()).toEqual([...new Set(listed.map(({ key }) => key))].toSorted());
        for (const source of [0, 1, 2, 3]) {
          const own = listed.filter((work) => work.source === source);
          const most = own.reduce(
            (top, work) => (work.promisedUsdg > top ? work.promisedUsdg : top),
            0n,
          );
          const firsts = own.filter((work) => work.promisedUsdg === most).map(({ key }) => key);
          // The best of every source is looked at among the first four: there are four sources.
          if (own.length > 0) {
            expect(order.slice(0, 4).some((key) => firsts.includes(key))).toBe(true);
          }
        }
      }),
    );
  });
});

describe('turns in a tick', () => {
  test('end for a source whose work came to nothing so often, and for no other', async () => {
    const turns = new Turns();
    const liar = [fill(0, 'a', 9n)];
    for (let look = 0; look < MOST_FRUITLESS; look += 1) {
      expect(await turns.begin(liar)).toBe(true);
      turns.end(liar, true);
    }
    expect(await turns.begin(liar)).toBe(false);
    expect(await turns.begin([fill(1, 'a', 1n)])).toBe(true);
    expect(await turns.begin([...liar, fill(1, 'a', 1n)])).toBe(true);
  });

  test('are never more under way than might come to nothing: the next waits for what becomes of one', async () => {
    const turns = new Turns();
    const work = [fill(0, 'a', 9n)];
    for (let look = 0; look < MOST_FRUITLESS; look += 1) await turns.begin(work);
    const begun: boolean[] = [];
    const waiting = [1, 2].map(async () => begun.push(await turns.begin(work)));
    await Promise.resolve();
    expect(begun).toEqual([]);
    turns.end(work, false);
    await waiting[0];
    expect(begun).toEqual([true]);
    for (let look = 0; look < MOST_FRUITLESS; look += 1) turns.end(work, true);
    await Promise.all(waiting);
    expect(begun).toEqual([true, false]);
  });
});

describe('rounds', () => {
  const isFill = (variants: readonly Work[]): boolean =>
    variants.every(({ type }) => type === 'sell');
  const listed = fc
    .array(fc.boolean(), { maxLength: 40 })
    .map((fills) =>
      fills.map((isOfFill, at): [string, Work[]] => [
        `${at}`,
        [isOfFill ? fill(0, `${at}`, 1n) : cover(0, `${at}`, 'payout')],
      ]),
    );

  test('hold every turn once, in the order of their first, and nothing beside what runs by itself', () => {
    fc.assert(
      fc.property(listed, fc.integer({ min: 1, max: 12 }), (turns, most) => {
        const rounds = inRounds(turns, isFill, most);
        const at = (key: string): number => Number(key);
        expect(
          rounds
            .flat()
            .map(([key]) => at(key))
            .toSorted((a, b) => a - b),
        ).toEqual(turns.map(([key]) => at(key)));
        const firsts = rounds.map(([first]) => at(first?.[0] ?? ''));
        expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
        for (const round of rounds) {
          expect(round.length).toBeLessThanOrEqual(most);
          expect(round.length === 1 || round.every(([, variants]) => isFill(variants))).toBe(true);
        }
        const fills = turns.filter(([, variants]) => isFill(variants)).length;
        expect(rounds).toHaveLength(turns.length - fills + Math.ceil(fills / most));
      }),
    );
  });
});
