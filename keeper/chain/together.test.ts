import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressOf } from '../firewall/fixture.ts';
import type { Call, Measured, Simulation } from './simulate.ts';
import { createTogether } from './together.ts';

const EXTRA = 7n;
const call = (index: number): Call => ({
  from: addressOf(1),
  to: addressOf(2),
  data: `0x${index}`,
});
const indexOf = ({ data }: Call): number => Number(data.slice(2));
const passed = (index: number): Measured => ({
  tag: 'passed',
  before: 100n,
  after: 100n + BigInt(index),
  returned: '0x',
  gasUsed: 1_000n,
});
const reverted: Measured = { tag: 'reverted', data: '0x', gasSpent: 3n };
const silent: Measured = { tag: 'unavailable', why: 'silent', answered: false };
const refused: Measured = { tag: 'unavailable', why: 'too much gas', answered: true };
const ALONE: Simulation = { tag: 'unavailable', why: 'by itself', answered: true };

/** @param run what becomes of each, behind those before it */
function under(run: (calls: readonly number[]) => Measured[], most = 10) {
  const runs: number[][] = [];
  const alone: number[] = [];
  let ms = 0;
  const together = createTogether({
    run: async (calls) => {
      const indexes = calls.map(indexOf);
      runs.push(indexes);
      return run(indexes);
    },
    most,
    now: () => ms,
  });
  const simulate = (index: number, extra: bigint | null = EXTRA): Promise<Simulation> =>
    together.simulate({
      call: call(index),
      read: () => ({ tag: 'other', text: 'reverted' }),
      extra: () => extra,
      alone: async () => {
        alone.push(index);
        return ALONE;
      },
    });
  return { simulate, runs, alone, wait: (more: number) => (ms += more) };
}

const placeOf = (simulation: Simulation) =>
  simulation.tag === 'passed' ? (simulation.place ?? null) : null;

describe('calls simulated together', () => {
  test('go in one question, and each tells its own gain and where it stood', async () => {
    const { simulate, runs } = under((indexes) => indexes.map(passed));
    const answers = await Promise.all([1, 2, 3].map((index) => simulate(index)));
    expect(runs).toEqual([[1, 2, 3]]);
    expect(answers).toMatchObject([1n, 2n, 3n].map((gainUsdg) => ({ gainUsdg, gas: 1_007n })));
    expect(answers.map((answer) => placeOf(answer)?.at)).toEqual([0, 1, 2]);
    expect(new Set(answers.map((answer) => placeOf(answer)?.run)).size).toBe(1);
  });

  test('do not exceed the most that go in one question', async () => {
    const { simulate, runs } = under((indexes) => indexes.map(passed), 2);
    await Promise.all([1, 2, 3, 4, 5].map((index) => simulate(index)));
    expect(runs).toEqual([[1, 2], [3, 4], [5]]);
  });

  test('that fail behind others are asked again without them: nobody fails by another', () => {
    const fates = fc.array(fc.boolean(), { minLength: 1, maxLength: 12 });
    return fc.assert(
      fc.asyncProperty(fates, fc.integer({ min: 1, max: 3 }), async (works, room) => {
        // So many pass in one question; behind them everything fails.
        const { simulate, runs, alone } = under((indexes) => {
          let left = room;
          return indexes.map((index) => {
            const passes = works[index] === true && left > 0;
            left -= passes ? 1 : 0;
            return passes ? passed(index) : reverted;
          });
        }, 50);
        const answers = await Promise.all(works.map((_, index) => simulate(index)));
        // By itself each passes that works at all.
        const fates = answers.map((answer, index) => (alone.includes(index) ? ALONE : answer).tag);
        for (const [index, fate] of fates.entries()) {
          if (alone.includes(index)) expect(index).toBeGreaterThan(0);
          else expect(fate).toBe(works[index] === true ? 'passed' : 'reverted');
        }
        expect(runs.length).toBeLessThanOrEqual(2);
      }),
    );
  });

  test('that no estimate speaks for, or that the node cannot run so, are simulated by themselves', async () => {
    const unknown = under((indexes) => indexes.map(passed));
    expect(await Promise.all([unknown.simulate(1), unknown.simulate(2, null)])).toMatchObject([
      { tag: 'passed' },
      ALONE,
    ]);
    expect(unknown.alone).toEqual([2]);
    const refusing = under((indexes) => indexes.map(() => refused));
    expect(await Promise.all([1, 2].map((index) => refusing.simulate(index)))).toEqual([
      ALONE,
      ALONE,
    ]);
    const short = under(() => [passed(1)]);
    expect(await Promise.all([1, 2].map((index) => short.simulate(index)))).toMatchObject([
      { tag: 'passed' },
      ALONE,
    ]);
  });

  test('that a node does not answer, or refuses, are asked by themselves, and so for a minute', async () => {
    for (const fault of [silent, refused]) {
      const node = { fails: true };
      const { simulate, runs, alone, wait } = under((indexes) =>
        indexes.map((index) => (node.fails ? fault : passed(index))),
      );
      expect(await Promise.all([1, 2].map((index) => simulate(index)))).toEqual([ALONE, ALONE]);
      expect(alone).toEqual([1, 2]);
      node.fails = false;
      await Promise.all([3, 4].map((index) => simulate(index)));
      wait(60_001);
      await Promise.all([5, 6].map((index) => simulate(index)));
      expect(runs).toEqual([[1, 2], [3], [4], [5, 6]]);
    }
  });

  test('are all told when the question itself breaks', async () => {
    const { simulate } = under(() => {
      throw new Error('broken');
    });
    const answers = await Promise.allSettled([1, 2].map((index) => simulate(index)));
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
