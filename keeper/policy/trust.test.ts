import { describe, expect, test } from 'vitest';
import { isDropped, strike, TRUST_RULES, TRUSTED, type Trust } from './trust.ts';

const T = 1_800_000_000_000;
const struck = (trust: Trust, ...at: [string, number][]): Trust =>
  at.reduce((kept, [what, ms]) => strike(kept, what, ms, TRUST_RULES), trust);

describe('a source that lists what is false', () => {
  test('is dropped at the third strike within the hour, and comes back', () => {
    const two = struck(TRUSTED, ['a', T], ['b', T]);
    expect(isDropped(two, T)).toBe(false);
    const three = struck(two, ['c', T + 1]);
    expect(isDropped(three, T + 1)).toBe(true);
    expect(isDropped(three, T + 1 + TRUST_RULES.firstDropMs)).toBe(false);
  });

  test('is struck once a minute for the same listing, and not for what was long ago', () => {
    expect(struck(TRUSTED, ['a', T], ['a', T + 1_000], ['a', T + 59_999]).strikes).toHaveLength(1);
    expect(
      isDropped(struck(TRUSTED, ['a', T], ['a', T + 60_000], ['a', T + 120_000]), T + 120_000),
    ).toBe(true);
    const old = struck(TRUSTED, ['a', T], ['b', T], ['c', T + TRUST_RULES.windowMs]);
    expect(isDropped(old, T + TRUST_RULES.windowMs)).toBe(false);
  });

  test('is dropped for longer each time, up to a day', () => {
    let trust: Trust = TRUSTED;
    let now = T;
    const lengths: number[] = [];
    for (let drop = 0; drop < 12; drop += 1) {
      trust = struck(trust, ['a', now], ['b', now], ['c', now]);
      lengths.push(trust.droppedUntilMs - now);
      now = trust.droppedUntilMs;
    }
    expect(lengths.slice(0, 3)).toEqual([600_000, 1_200_000, 2_400_000]);
    expect(lengths.at(-1)).toBe(TRUST_RULES.longestDropMs);
  });

  test('is remembered within bounds', () => {
    const rules = { ...TRUST_RULES, strikesUntilDrop: 10_000 };
    let trust: Trust = TRUSTED;
    for (let i = 0; i < 1_000; i += 1) trust = strike(trust, String(i), T + i, rules);
    expect(trust.last.size).toBe(100);
  });
});
