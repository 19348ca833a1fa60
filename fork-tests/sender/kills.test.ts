import { expect, it } from 'vitest';
import { DURABLE_POINTS } from '../../runtime/sender/context.ts';
import { renderKills, runKills } from './kills.ts';

it('loses and doubles nothing when killed at each durable point (case 8)', async () => {
  const report = await runKills(1);
  expect({ problems: report.problems, report: renderKills(report) }).toMatchObject({
    problems: [],
  });
  expect(report.kills).toBe(DURABLE_POINTS.length);
  expect([...report.histogram.keys()]).toEqual([...DURABLE_POINTS]);
}, 300_000);
