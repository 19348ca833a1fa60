import { expect, test } from 'vitest';
import { atMost } from './at-most.ts';

test('so many run at once, in their order, whether or not one fails', async () => {
  const bounded = atMost(3);
  const begun: number[] = [];
  let running = 0;
  let peak = 0;
  const works = Array.from({ length: 20 }, (_, index) =>
    bounded(async () => {
      begun.push(index);
      running += 1;
      peak = Math.max(peak, running);
      for (let turn = 0; turn < index % 4; turn += 1) await Promise.resolve();
      running -= 1;
      if (index % 5 === 0) throw new Error(`work ${index}`);
      return index;
    }),
  );
  const ended = await Promise.allSettled(works);
  expect(peak).toBe(3);
  expect(begun).toEqual(Array.from({ length: 20 }, (_, index) => index));
  expect(ended.map(({ status }) => status === 'rejected')).toEqual(
    begun.map((index) => index % 5 === 0),
  );
});
