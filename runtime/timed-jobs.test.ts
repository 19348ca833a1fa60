import { expect, test } from 'vitest';
import { createLogger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import { isCronExpression, createTimedJobs, type TimedJob } from './timed-jobs.ts';

const logger = createLogger('keeper', 'fatal');
const NEVER = '0 0 29 2 *';

function started(...jobs: TimedJob[]) {
  const metrics = createMetrics('keeper');
  const timed = createTimedJobs(jobs, logger, {
    housekeeping: metrics.counter('housekeeping_total', 'Runs of the timed jobs, by result.', [
      'task',
      'result',
    ]),
  });
  timed.start();
  return { timed, registry: metrics.registry };
}

test('the clock starts a job, again and again', async () => {
  let count = 0;
  let twice = (): void => undefined;
  const done = new Promise<void>((resolve) => {
    twice = resolve;
  });
  const run = async () => {
    count += 1;
    if (count === 2) twice();
  };
  const { timed } = started({ name: 'tick', expression: '* * * * * *', run });
  await done;
  await timed.stop();
  expect(count).toBe(2);
});

test('a job never overlaps itself: who asks meanwhile joins the run', async () => {
  let runs = 0;
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { timed } = started({
    name: 'slow',
    expression: NEVER,
    run: async () => {
      runs += 1;
      await gate;
    },
  });
  const both = [timed.runNow('slow'), timed.runNow('slow')];
  release();
  await Promise.all(both);
  expect(runs).toBe(1);
  await timed.runNow('slow');
  expect(runs).toBe(2);
  await timed.stop();
});

test('a failure is counted and is not the end of the job', async () => {
  let runs = 0;
  const { timed, registry } = started({
    name: 'bad',
    expression: NEVER,
    run: async () => {
      runs += 1;
      if (runs === 1) throw new Error('the disk is full');
    },
  });
  await expect(timed.runNow('bad')).rejects.toThrow('the disk is full');
  await timed.runNow('bad');
  const text = await registry.metrics();
  expect(text).toContain('housekeeping_total{task="bad",result="failed"} 1');
  expect(text).toContain('housekeeping_total{task="bad",result="ok"} 1');
  await timed.stop();
});

test('a stop tells the running job, waits for it, and nothing starts after it', async () => {
  const order: string[] = [];
  const { timed } = started({
    name: 'long',
    expression: NEVER,
    run: (signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          order.push('job ended');
          resolve();
        });
      }),
  });
  const running = timed.runNow('long');
  await timed.stop();
  order.push('stopped');
  await running;
  await timed.runNow('long');
  expect(order).toEqual(['job ended', 'stopped']);
});

test('what is no expression is known as such', () => {
  expect(isCronExpression('17 * * * *')).toBe(true);
  expect(isCronExpression('every hour')).toBe(false);
  expect(isCronExpression('61 * * * *')).toBe(false);
});
