import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EndpointHealth, Heads, type Trouble } from './endpoint-health.ts';

const LATE: Trouble = { tag: 'late' };
const FAULT: Trouble = { tag: 'fault' };

function setUp() {
  const time = { now: 1_000_000 };
  const clock = () => time.now;
  return { time, health: new EndpointHealth(clock), heads: new Heads(clock) };
}

describe('an endpoint', () => {
  it('that was silent is left alone at once, twice as long each time, and doubted until it answers', () => {
    const { time, health } = setUp();
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      health.failed(LATE);
      time.now += pauseMs - 1;
      expect([health.paused, health.doubtful, health.well]).toEqual([true, false, false]);
      time.now += 1;
      expect([health.paused, health.doubtful, health.well]).toEqual([false, true, false]);
    }
    health.succeeded();
    expect(health.well).toBe(true);
    health.failed(LATE);
    time.now += 1_000;
    expect(health.paused).toBe(false);
  });

  it('that broke one connection is asked on; two in a row are a pause', () => {
    const { health } = setUp();
    health.failed(FAULT);
    expect(health.well).toBe(true);
    health.failed(FAULT);
    expect(health.paused).toBe(true);
  });

  it.each([
    [null, 250],
    [3_000, 3_000],
    [600_000, 10_000],
  ])('that asks for %s ms is left alone for %i ms', (retryAfterMs, pauseMs) => {
    const { time, health } = setUp();
    health.failed({ tag: 'rate_limited', retryAfterMs });
    time.now += pauseMs - 1;
    expect(health.paused).toBe(true);
    time.now += 1;
    expect(health.paused).toBe(false);
  });

  it('is never left alone for more than ten seconds, whatever came before', () => {
    const trouble = fc.constantFrom<Trouble>(LATE, FAULT, {
      tag: 'rate_limited',
      retryAfterMs: 86_400_000,
    });
    fc.assert(
      fc.property(fc.array(trouble, { maxLength: 50 }), (troubles) => {
        const { time, health } = setUp();
        for (const each of troubles) health.failed(each);
        time.now += 10_000;
        expect(health.paused).toBe(false);
      }),
    );
  });
});

describe('heads', () => {
  const SECONDS = 1_700_000_000;

  it('eight blocks and two seconds behind are behind, whoever shows its head first', () => {
    for (const [first, second] of [
      [0, 8],
      [8, 0],
    ] as const) {
      const { heads } = setUp();
      const head = (blocks: number) => ({ number: 100 + blocks, seconds: SECONDS + blocks / 4 });
      expect(heads.saw(0, head(first))).toEqual([]);
      expect(heads.saw(1, head(second))).toEqual([first < second ? 0 : 1]);
    }
  });

  it('the ordinary lag of a replica is none', () => {
    const { time, heads } = setUp();
    // Ten blocks of a tenth of a second; then one block after a quiet hour.
    heads.saw(0, { number: 100, seconds: SECONDS });
    expect(heads.saw(1, { number: 110, seconds: SECONDS + 1 })).toEqual([]);
    time.now += 3_600_000;
    heads.saw(0, { number: 110, seconds: SECONDS + 1 });
    expect(heads.saw(1, { number: 111, seconds: SECONDS + 3_600 })).toEqual([]);
  });

  it('a head that stands still is behind once another went on three seconds ago', () => {
    const { time, heads } = setUp();
    heads.saw(0, { number: 100, seconds: null });
    expect(heads.saw(1, { number: 101, seconds: null })).toEqual([]);
    time.now += 2_999;
    expect(heads.saw(0, { number: 100, seconds: null })).toEqual([]);
    time.now += 1;
    expect(heads.saw(0, { number: 100, seconds: null })).toEqual([0]);
    expect(heads.saw(0, { number: 101, seconds: null })).toEqual([]);
  });

  it('an endpoint that nobody asked meanwhile is not behind', () => {
    const { time, heads } = setUp();
    heads.saw(1, { number: 100, seconds: SECONDS });
    time.now += 5_000;
    expect(heads.saw(0, { number: 120, seconds: SECONDS + 5 })).toEqual([]);
  });

  it('a height that was reorganised away is forgotten', () => {
    const { time, heads } = setUp();
    heads.saw(1, { number: 500, seconds: SECONDS });
    time.now += 14_000;
    expect(heads.saw(0, { number: 100, seconds: SECONDS })).toEqual([0]);
    time.now += 2_000;
    expect(heads.saw(0, { number: 100, seconds: SECONDS })).toEqual([]);
    // And at once when its endpoint shows the shorter chain.
    heads.saw(1, { number: 100, seconds: SECONDS });
    expect(heads.saw(0, { number: 100, seconds: SECONDS })).toEqual([]);
  });

  it('an endpoint that follows at once is never behind, whatever the pace of the chain', () => {
    const step = fc.record({ ms: fc.integer({ min: 0, max: 5_000 }), blocks: fc.nat(40) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { time, heads } = setUp();
        let number = 100;
        for (const { ms, blocks } of steps) {
          time.now += ms;
          number += blocks;
          const head = { number, seconds: Math.floor(time.now / 1_000) };
          expect(heads.saw(0, head)).toEqual([]);
          expect(heads.saw(1, head)).toEqual([]);
        }
      }),
    );
  });
});
