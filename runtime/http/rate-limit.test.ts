import { describe, expect, it } from 'vitest';
import { clientKeys } from './client-address.ts';
import { RateLimiter } from './rate-limit.ts';

function limiterAt(limit: number, maxClients?: number) {
  const clock = { ms: 5_000 };
  return { clock, limiter: new RateLimiter(limit, () => clock.ms, maxClients) };
}

describe('the rate limiter', () => {
  it('counts each client by itself and refuses what is over the limit', () => {
    const { limiter } = limiterAt(2);
    expect([1, 2, 3].map(() => limiter.take('a'))).toEqual([
      { exceeded: false, remaining: 1, resetSeconds: 60 },
      { exceeded: false, remaining: 0, resetSeconds: 60 },
      { exceeded: true, remaining: 0, resetSeconds: 60 },
    ]);
    expect(limiter.take('b').exceeded).toBe(false);
  });

  it('says how many seconds are left of the window, and lets the client in when it has ended', () => {
    const { clock, limiter } = limiterAt(1);
    limiter.take('a');
    clock.ms += 17_001;
    expect(limiter.take('a')).toEqual({ exceeded: true, remaining: 0, resetSeconds: 43 });
    clock.ms += 42_998;
    expect(limiter.take('a')).toMatchObject({ exceeded: true, resetSeconds: 1 });
    clock.ms += 1;
    expect(limiter.take('a')).toEqual({ exceeded: false, remaining: 0, resetSeconds: 60 });
  });

  it('writes the headers of draft 7', () => {
    const { limiter } = limiterAt(5);
    expect(limiter.policy).toBe('5;w=60');
    expect(limiter.headerOf(limiter.take('a'))).toBe('limit=5, remaining=4, reset=60');
  });

  it('remembers no more clients than it may, and forgets the first', () => {
    const { limiter } = limiterAt(1, 3);
    for (const key of ['a', 'b', 'c', 'd']) limiter.take(key);
    expect(limiter.take('b').exceeded).toBe(true);
    expect(limiter.take('a').exceeded).toBe(false);
  });

  it('holds nothing of clients that stay away', () => {
    const { clock, limiter } = limiterAt(1);
    for (let i = 0; i < 1_000; i += 1) limiter.take(`client ${i}`);
    expect(limiter.clients).toBe(1_000);
    clock.ms += 60_000;
    limiter.take('another');
    expect(limiter.clients).toBe(1);
  });
});

describe('what a client is counted by', () => {
  it.each([
    ['an IPv4 address is itself', '203.0.113.7', '203.0.113.7', true],
    ['neighbours in IPv4 differ', '203.0.113.7', '203.0.113.8', false],
    ['an address mapped into IPv6 is the same client', '::ffff:203.0.113.7', '203.0.113.7', true],
    ['a /64 is one client', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::1', true],
    ['two /64 are two', '2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ])('%s', (_name, one, other, same) => {
    const keyOf = clientKeys();
    expect(keyOf(one) === keyOf(other)).toBe(same);
    // Remembered or not, the answer is the same.
    expect(keyOf(one) === keyOf(other)).toBe(same);
  });
});
