import { describe, expect, it } from 'vitest';
import { createKeyLimiter } from './key-limiter.ts';

describe('createKeyLimiter', () => {
  it('gives a minute of tokens at once, then one by one as time passes', () => {
    let now = 0;
    const limiter = createKeyLimiter({ perMinute: 60, maxKeys: 10 }, () => now);
    for (let taken = 0; taken < 60; taken += 1) expect(limiter.take('a').ok).toBe(true);
    expect(limiter.take('a')).toEqual({ ok: false, retryAfterSeconds: 1 });
    expect(limiter.take('b').ok).toBe(true);
    now += 999;
    expect(limiter.take('a').ok).toBe(false);
    now += 2;
    expect(limiter.take('a').ok).toBe(true);
    now -= 5_000;
    expect(limiter.take('a').ok).toBe(false);
  });

  it('stays bounded under ten thousand keys, and keeps whom it saw last', () => {
    const limiter = createKeyLimiter({ perMinute: 1, maxKeys: 1_000 }, () => 0);
    for (let index = 0; index < 10_000; index += 1) limiter.take(`key ${index}`);
    expect(limiter.size()).toBe(1_000);
    expect(limiter.take('key 9999').ok).toBe(false);
    expect(limiter.take('key 0').ok).toBe(true);
  });
});
