import { describe, expect, test } from 'vitest';
import { admit } from './firewall/admit.ts';
import { known, OURS, sellJob } from './firewall/fixture.ts';
import { createTimelines, TIMELINES_A_MINUTE } from './timelines.ts';
import type { Work } from './work.ts';

function listedBy(source: number): Work {
  const admission = admit(sellJob(), known, OURS, source);
  if (admission.tag === 'refused') throw new Error(admission.why);
  return admission.work;
}

describe('timelines of jobs that nobody has seen running', () => {
  test('are begun so often a minute by each source, and the rest is counted and told in one line', () => {
    let clock = 1_000_000;
    let counted = 0;
    const lines: object[] = [];
    const timelines = createTimelines({
      logger: { warn: (line: object) => void lines.push(line) } as never,
      metrics: { timelinesLeftOut: { inc: () => (counted += 1) } } as never,
      now: () => clock,
    });
    const begun = (source: number, looks: number): number =>
      Array.from({ length: looks }, () => timelines.begins([listedBy(source)])).filter(Boolean)
        .length;
    expect(begun(0, TIMELINES_A_MINUTE + 40)).toBe(TIMELINES_A_MINUTE);
    expect(counted).toBe(40);
    expect(lines).toEqual([{ source: 0, jobs: 1 }]);
    // Another source has its own, also for a job that both list.
    expect(timelines.begins([listedBy(0), listedBy(1)])).toBe(true);
    expect(begun(1, TIMELINES_A_MINUTE)).toBe(TIMELINES_A_MINUTE - 1);
    clock += 60_000;
    expect(begun(0, TIMELINES_A_MINUTE + 1)).toBe(TIMELINES_A_MINUTE);
    expect(lines.filter((line) => 'source' in line && line.source === 0)).toEqual([
      { source: 0, jobs: 1 },
      { source: 0, jobs: 40 },
    ]);
  });
});
