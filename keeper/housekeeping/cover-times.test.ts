import { expect, test } from 'vitest';
import { createLogger } from '../../runtime/logger.ts';
import { coverClock, type CoverMoment, momentsAhead } from './cover-times.ts';

const logger = createLogger('keeper', 'fatal');
const T = 1_800_000_000_000;
const at = (week: number, atMs: number): CoverMoment => ({ week, what: 'close', atMs });

test('the moments of the coming minute, earliest first, and none that has passed', () => {
  const moments = [at(1, T), at(2, T + 60_000), at(3, T + 5_000), at(4, T + 60_001), at(5, T - 1)];
  expect(momentsAhead(moments, T, 60_000).map(({ week }) => week)).toEqual([3, 2]);
});

test('the loop is woken just after each moment, and weeks are read once an hour', async () => {
  let now = T;
  let reads = 0;
  let nudges = 0;
  const clock = coverClock({
    read: async () => {
      reads += 1;
      // Just ahead of a clock that stands: the wait is over at once.
      return [at(1, T + 1), at(2, T + 7_200_000)];
    },
    nudge: () => {
      nudges += 1;
    },
    logger,
    now: () => {
      now += 1_000;
      return now - 1_000;
    },
  });
  const { signal } = new AbortController();
  now = T - 2_000;
  await clock(signal);
  expect([reads, nudges]).toEqual([1, 1]);
  await clock(signal);
  expect([reads, nudges]).toEqual([1, 1]);
  now = T + 3_600_000;
  await clock(signal);
  expect([reads, nudges]).toEqual([2, 1]);
});

test('a stop ends the wait, and nobody is woken', async () => {
  let nudges = 0;
  const abort = new AbortController();
  const clock = coverClock({
    read: async () => [at(1, T + 50_000)],
    nudge: () => {
      nudges += 1;
    },
    logger,
    now: () => T,
  });
  const waiting = clock(abort.signal);
  abort.abort();
  await waiting;
  expect(nudges).toBe(0);
});
