import { describe, expect, test } from 'vitest';
import { startLoop } from './loop.ts';
import { runBounded } from '../runtime/run-bounded.ts';
import { Throttle } from '../runtime/throttle.ts';

describe('a loop', () => {
  test('runs one tick at a time, goes on after a fault, and stops at once while waiting', async () => {
    let running = 0;
    let most = 0;
    let ticks = 0;
    const faults: unknown[] = [];
    let third = (): void => undefined;
    const reached = new Promise<void>((resolve) => {
      third = resolve;
    });
    const loop = startLoop({
      intervalMs: () => 1,
      tick: async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        ticks += 1;
        if (ticks === 1) throw new Error('first');
        if (ticks === 3) third();
      },
      onError: (error) => faults.push(error),
    });
    await reached;
    await loop.stop();
    const stoppedAt = ticks;
    expect(most).toBe(1);
    expect(faults).toHaveLength(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ticks).toBe(stoppedAt);
  });

  test('asks after each tick how long to pause', async () => {
    const pauses = [0, 0, 3_600_000];
    let ticks = 0;
    let isLast = (): void => undefined;
    const last = new Promise<void>((resolve) => {
      isLast = resolve;
    });
    const loop = startLoop({
      intervalMs: () => {
        const pause = pauses[ticks - 1] ?? 3_600_000;
        if (pause > 0) isLast();
        return pause;
      },
      tick: async () => {
        ticks += 1;
      },
      onError: () => undefined,
    });
    await last;
    await loop.stop();
    expect(ticks).toBe(3);
  });

  test('goes on at once when nudged, while it waits and while a tick runs', async () => {
    let ticks = 0;
    const reached: (() => void)[] = [];
    const at = (count: number) =>
      new Promise<void>((resolve) => {
        reached[count] = resolve;
      });
    const [first, third] = [at(1), at(3)];
    const loop = startLoop({
      intervalMs: () => 3_600_000,
      tick: async () => {
        ticks += 1;
        if (ticks === 2) loop.nudge();
        reached[ticks]?.();
      },
      onError: () => undefined,
    });
    await first;
    loop.nudge();
    await third;
    await loop.stop();
    expect(ticks).toBe(3);
  });

  test('stops without waiting for its interval', async () => {
    let ticks = 0;
    const loop = startLoop({
      intervalMs: () => 3_600_000,
      tick: async () => {
        ticks += 1;
      },
      onError: () => undefined,
    });
    await loop.stop();
    expect(ticks).toBe(1);
  });
});

describe('bounded work', () => {
  test('runs everything, in order, at most so many at once', async () => {
    let running = 0;
    let most = 0;
    const done: number[] = [];
    const work = async (item: number): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      done.push(item);
    };
    await runBounded([1, 2, 3, 4, 5, 6, 7], 3, work, () => false);
    expect(done).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(most).toBe(3);
  });

  test('starts nothing more once there is enough', async () => {
    const done: number[] = [];
    await runBounded(
      [1, 2, 3, 4],
      1,
      async (item) => void done.push(item),
      () => done.length >= 2,
    );
    expect(done).toEqual([1, 2]);
  });

  test('starts nothing more once one failed', async () => {
    const begun: number[] = [];
    const running = runBounded(
      [1, 2, 3, 4, 5],
      2,
      async (item) => {
        begun.push(item);
        await new Promise((resolve) => setImmediate(resolve));
        if (item === 2) throw new Error('the second');
      },
      () => false,
    );
    await expect(running).rejects.toThrow('the second');
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toEqual([1, 2, 3]);
  });

  test('throws only when what was begun has ended', async () => {
    let ended = false;
    const running = runBounded(
      ['fails', 'is slow'],
      2,
      async (item) => {
        if (item === 'fails') throw new Error('the first');
        await new Promise((resolve) => setImmediate(resolve));
        ended = true;
      },
      () => false,
    );
    await expect(running).rejects.toThrow('the first');
    expect(ended).toBe(true);
  });
});

describe('a throttle', () => {
  test('says the same once per interval, and only so many different things', () => {
    let at = 0;
    const throttle = new Throttle(100, 2, () => at);
    expect([
      throttle.lets('a'),
      throttle.lets('a'),
      throttle.lets('b'),
      throttle.lets('c'),
    ]).toEqual([true, false, true, false]);
    at = 100;
    expect([throttle.lets('c'), throttle.lets('a')]).toEqual([true, true]);
  });
});
