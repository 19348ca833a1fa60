import { describe, expect, it } from 'vitest';
import { createLogger } from '../../runtime/logger.ts';
import { HeadWatch } from './head-watch.ts';

function watching() {
  let now = 1_000;
  const lines: string[] = [];
  const watch = new HeadWatch({
    logger: createLogger('test', 'info', { write: (line) => void lines.push(line) }),
    patienceMs: 500,
    now: () => now,
  });
  return { watch, lines, pass: (ms: number) => (now += ms) };
}

const WHY = "the chain's head (7) is behind the index (9)";

describe('a head below the index', () => {
  it('is a lagging node at first, then told once, until the head is back', () => {
    const { watch, lines, pass } = watching();
    watch.saw(9, 9, true);
    watch.saw(7, 9, true);
    expect(watch.astray(true)).toBeNull();
    pass(500);
    watch.saw(7, 9, true);
    expect([watch.astray(true), lines.length]).toEqual([null, 0]);
    pass(1);
    expect(watch.astray(true)).toBe(WHY);
    watch.saw(7, 9, true);
    watch.saw(7, 9, true);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(WHY);
    watch.saw(9, 9, true);
    expect(watch.astray(true)).toBeNull();
    expect(lines).toHaveLength(2);
    // Another time is counted anew.
    watch.saw(8, 9, true);
    expect(watch.astray(true)).toBeNull();
  });

  it('is told at once where the rows were never seen complete', () => {
    const { watch, lines } = watching();
    watch.saw(7, 9, false);
    expect(watch.astray(false)).toBe(WHY);
    expect(lines).toHaveLength(1);
  });

  it('is none where there are no rows', () => {
    const { watch, lines } = watching();
    watch.saw(7, null, false);
    expect([watch.astray(false), lines]).toEqual([null, []]);
  });
});
