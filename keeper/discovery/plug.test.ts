import { describe, expect, test } from 'vitest';
import type { SourceAnswer } from '../source/job-source.ts';
import { createListings, type DiscoveryMode, STALE_SECONDS } from './plug.ts';

type Told = Extract<SourceAnswer, { tag: 'jobs' }>;

const HEAD = 1_800_000_000;
const OWN = 9;
const told = (source: number, change: Partial<Told> = {}): Told => ({
  tag: 'jobs',
  source,
  jobs: [],
  payouts: [],
  payoutFault: null,
  tellsCover: true,
  malformed: [],
  dropped: 0,
  asOf: { oldest: HEAD, newest: HEAD },
  ...change,
});
const failed = (source: number, why = 'ECONNREFUSED'): SourceAnswer => ({
  tag: 'failed',
  source,
  why,
});
const asOf = (oldest: number): Partial<Told> => ({ asOf: { oldest, newest: HEAD } });

type Source = (signal: AbortSignal) => Promise<SourceAnswer>;

function listingsOf(
  mode: DiscoveryMode,
  sources: readonly Source[],
  more: { dropped?: number; now?: () => number; standBy?: () => Promise<void> } = {},
) {
  const asked: string[] = [];
  const listings = createListings({
    sources,
    isDropped: (source) => source === more.dropped,
    discovery: {
      list: async () => {
        asked.push('list');
        return told(OWN);
      },
      standBy: async () => {
        asked.push('standBy');
        await more.standBy?.();
      },
    },
    mode,
    chainTime: () => HEAD,
    now: more.now ?? (() => 0),
  });
  const stop = new AbortController();
  const poll = async () => (await listings.poll(stop.signal)).map(({ source }) => source);
  return { asked, poll, quiet: () => listings.quiet() };
}

const answers = (...given: SourceAnswer[]): Source[] => given.map((answer) => async () => answer);

describe('own discovery as a fallback', () => {
  test.each<[string, SourceAnswer[], boolean]>([
    ['every api tells all', [told(0), told(1)], false],
    ['one of two is down', [failed(0), told(1)], true],
    ['all are down', [failed(0), failed(1)], true],
    ['one has no payouts', [told(0, { tellsCover: false }), told(1)], true],
    ['one does not tell its payouts', [told(0, { payoutFault: 'HTTP 500' }), told(1)], true],
    ['the index of one is stuck', [told(0, asOf(HEAD - STALE_SECONDS - 1)), told(1)], true],
    ['the index of one is a little behind', [told(0, asOf(HEAD - STALE_SECONDS))], false],
    ['one does not say of when its list is', [told(0, { asOf: null })], false],
  ])('where %s', async (_, given, lists) => {
    const { asked, poll } = listingsOf('fallback', answers(...given));
    const first = await poll();
    const second = await poll();
    expect(new Set(asked)).toEqual(new Set([lists ? 'list' : 'standBy']));
    expect(second.includes(OWN)).toBe(lists);
    // At once where nobody else told anything.
    expect(first.includes(OWN)).toBe(given.every(({ tag }) => tag === 'failed'));
    expect(first.slice(0, given.length)).toEqual(given.map(({ source }) => source));
  });

  test('lists while a source is dropped, and does not ask that one', async () => {
    let polled = 0;
    const dropped: Source = async () => {
      polled += 1;
      return told(0);
    };
    const { poll } = listingsOf('fallback', [dropped, async () => told(1)], { dropped: 0 });
    expect(await poll()).toEqual([1, OWN]);
    expect(polled).toBe(0);
  });

  test('reads on beside the tick, and once at a time', async () => {
    let end = (): void => undefined;
    const reading = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { asked, poll, quiet } = listingsOf('fallback', answers(told(0)), {
      standBy: () => reading,
    });
    expect(await poll()).toEqual([0]);
    expect(await poll()).toEqual([0]);
    expect(asked).toEqual(['standBy']);
    end();
    await quiet();
    await poll();
    expect(asked).toEqual(['standBy', 'standBy']);
  });
});

test('own discovery always lists beside the sources, and never where it is off', async () => {
  const always = listingsOf('always', answers(told(0)));
  expect(await always.poll()).toEqual([0, OWN]);
  expect(always.asked).toEqual(['list']);
  const off = listingsOf('off', answers(failed(0)));
  expect(await off.poll()).toEqual([0]);
  expect(off.asked).toEqual([]);
});

describe('sources', () => {
  test('that are slow keep nobody waiting, and what they say is used when it comes', async () => {
    let answer: (told: SourceAnswer) => void = () => undefined;
    let polled = 0;
    const slow: Source = () => {
      polled += 1;
      return new Promise<SourceAnswer>((resolve) => {
        answer = resolve;
      });
    };
    const { poll } = listingsOf('off', [slow, async () => told(1)]);
    expect(await poll()).toEqual([1]);
    expect(await poll()).toEqual([1]);
    expect(polled).toBe(1);
    answer(told(0));
    await Promise.resolve();
    expect(await poll()).toEqual([0, 1]);
  });

  test('that are slow are heard though ticks are long', async () => {
    let clock = 0;
    const pending: ((told: SourceAnswer) => void)[] = [];
    const slow: Source = () => new Promise<SourceAnswer>((resolve) => pending.push(resolve));
    const { poll } = listingsOf('off', [slow, async () => told(1)], { now: () => clock });
    for (let tick = 0; tick < 3; tick += 1) {
      expect(await poll()).toEqual(tick === 0 ? [1] : [0, 1]);
      clock += 1_000;
      pending.shift()?.(told(0));
      await Promise.resolve();
      clock += 60_000;
    }
  });

  test('that do not answer in time are asked ever more seldom, and at once again after an answer', async () => {
    let clock = 0;
    let given: SourceAnswer = failed(0, 'DeadlineError');
    let polled = 0;
    const source: Source = async () => {
      polled += 1;
      return given;
    };
    const { poll } = listingsOf('off', [source, async () => told(1)], { now: () => clock });
    const pollsIn = async (ticks: number): Promise<number> => {
      const before = polled;
      for (let tick = 0; tick < ticks; tick += 1) {
        await poll();
        clock += 1_000;
      }
      return polled - before;
    };
    // After 1, 2, 4, 8, 16 and then 30 seconds.
    expect(await pollsIn(32)).toBe(6);
    expect(await pollsIn(300)).toBeLessThanOrEqual(11);
    given = told(0);
    clock += 30_000;
    expect(await pollsIn(5)).toBe(5);
    given = failed(0);
    // A refusal costs nobody any time.
    expect(await pollsIn(5)).toBe(5);
  });
});

test.each(['off', 'fallback', 'always'] as const)(
  'a stop waits for nobody who hangs, own discovery included: %s',
  async (mode) => {
    const never = new Promise<never>(() => undefined);
    const listings = createListings({
      sources: [() => never],
      isDropped: () => false,
      discovery: { list: () => never, standBy: () => never },
      mode,
      chainTime: () => HEAD,
      now: () => 0,
    });
    const stop = new AbortController();
    const polled = listings.poll(stop.signal);
    stop.abort();
    expect(await polled).toEqual([]);
  },
);
