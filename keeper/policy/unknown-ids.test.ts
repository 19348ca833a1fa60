import { describe, expect, test } from 'vitest';
import {
  isMadeUp,
  NONE_UNKNOWN,
  UNKNOWN_RULES as RULES,
  type UnknownIds,
  withoutUnknown,
  withUnknown,
} from './unknown-ids.ts';

const T = 1_800_000_000_000;
const ids = (count: number): string[] => Array.from({ length: count }, (_, at) => `id ${at}`);
const unknown = (held: UnknownIds, listed: readonly string[], caughtUp: boolean, at = T) =>
  listed.reduce((kept, id) => withUnknown(kept, id, caughtUp, at, RULES), held);

describe('ids that the chain does not know', () => {
  test('are forgiven as far as a reorg leaves some, and no further', () => {
    const some = unknown(NONE_UNKNOWN, ids(RULES.most), true);
    expect(isMadeUp(some, T, RULES)).toBe(false);
    // The same again is no more.
    expect(isMadeUp(unknown(some, ids(RULES.most), true), T, RULES)).toBe(false);
    expect(isMadeUp(unknown(some, ['one more'], true), T, RULES)).toBe(true);
  });

  test('count only after a while where our node may lag behind, and at once when it has caught up', () => {
    const lagging = unknown(NONE_UNKNOWN, ids(RULES.most + 1), false);
    expect(isMadeUp(lagging, T + RULES.lagMs - 1, RULES)).toBe(false);
    expect(isMadeUp(lagging, T + RULES.lagMs, RULES)).toBe(true);
    expect(isMadeUp(unknown(lagging, ids(RULES.most + 1), true), T + 1, RULES)).toBe(true);
    // Asked again meanwhile: the wait does not begin anew.
    const again = unknown(lagging, ids(RULES.most + 1), false, T + RULES.lagMs - 1);
    expect(isMadeUp(again, T + RULES.lagMs, RULES)).toBe(true);
  });

  test('count no more once the chain knows them', () => {
    const held = unknown(NONE_UNKNOWN, ids(RULES.most + 1), true);
    expect(isMadeUp(withoutUnknown(held, 'id 3'), T, RULES)).toBe(false);
    expect(withoutUnknown(held, 'another')).toBe(held);
  });

  test('are forgotten after the window, and held within bounds', () => {
    const held = unknown(NONE_UNKNOWN, ids(1_000), true);
    expect(held.size).toBe(RULES.mostHeld);
    expect(isMadeUp(held, T + RULES.windowMs, RULES)).toBe(false);
    expect(unknown(held, ['later'], true, T + RULES.windowMs).size).toBe(1);
  });
});
