import { describe, expect, it } from 'vitest';
import { createStopSignal } from './stop-signal.ts';

const never = new Promise<number>(() => undefined);

describe('a stop signal', () => {
  it('hands on what the work comes to, and keeps nothing of it', async () => {
    const stop = createStopSignal();
    expect(await stop.unlessStopped(Promise.resolve(1))).toBe(1);
    await expect(stop.unlessStopped(Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(stop.waiting()).toBe(0);
  });

  it('ends every wait at a stop, and all later ones at once', async () => {
    const stop = createStopSignal();
    const waits = [stop.unlessStopped(never), stop.unlessStopped(never)];
    expect(stop.waiting()).toBe(2);
    stop.signal();
    expect(await Promise.all(waits)).toEqual([null, null]);
    expect(await stop.unlessStopped(Promise.reject(new Error('late')))).toBeNull();
    expect(stop.waiting()).toBe(0);
  });
});
