/**
 * The one registry of what runs by the clock beside a process's own work: node-cron, UTC. No job overlaps itself, none can end the
 * process, and a stop waits for what is running.
 */
import cron, { type ScheduledTask } from 'node-cron';
import type { Counter } from 'prom-client';
import { z } from 'zod';
import type { Logger } from './logger.ts';

export type TimedJob = {
  /** A metric's label (`task`; Prometheus has a `job` of its own): one word of ours. */
  name: string;
  /** Five fields, or six with seconds first; UTC. */
  expression: string;
  run: (signal: AbortSignal) => Promise<void>;
};

export type TimedJobs = {
  /** From now on the clock starts the jobs. */
  start(): void;
  /** Runs a job now, or joins the run that is under way; its failure is the caller's too. */
  runNow(name: string): Promise<void>;
  /** Starts nothing more; resolves when nothing of it runs any more. */
  stop(): Promise<void>;
};

export function isCronExpression(text: string): boolean {
  return cron.validate(text);
}

/** A setting that says when a job runs. */
export const cronOption = z
  .string()
  .refine(
    isCronExpression,
    'expected a cron expression: minute, hour, day, month, day of the week',
  );

export function createTimedJobs(
  jobs: readonly TimedJob[],
  logger: Logger,
  metrics: { housekeeping: Counter<'task' | 'result'> },
): TimedJobs {
  const abort = new AbortController();
  const running = new Map<string, Promise<void>>();

  const run = async (job: TimedJob): Promise<void> => {
    if (abort.signal.aborted) return;
    const held = running.get(job.name);
    if (held !== undefined) return await held;
    const mine = (async () => {
      try {
        await job.run(abort.signal);
        metrics.housekeeping.inc({ task: job.name, result: 'ok' });
      } catch (err) {
        metrics.housekeeping.inc({ task: job.name, result: 'failed' });
        logger.error({ err, job: job.name }, 'housekeeping failed');
        throw err;
      } finally {
        running.delete(job.name);
      }
    })();
    running.set(job.name, mine);
    return await mine;
  };

  const quiet = {
    info: () => undefined,
    debug: () => undefined,
    warn: (message: string) => logger.debug({ cron: message }, 'cron'),
    error: (message: string | Error) => logger.warn({ cron: String(message) }, 'cron'),
  };
  let tasks: ScheduledTask[] = [];
  return {
    start() {
      if (tasks.length > 0 || abort.signal.aborted) return;
      tasks = jobs.map((job) =>
        cron.schedule(
          job.expression,
          async () => {
            // Expected: it was logged and counted; the next time is another try.
            await run(job).catch(() => undefined);
          },
          { name: job.name, timezone: 'UTC', noOverlap: true, logger: quiet, unref: true },
        ),
      );
    },
    async runNow(name) {
      const job = jobs.find((candidate) => candidate.name === name);
      if (job === undefined) throw new Error(`no timed job is called ${name}`);
      await run(job);
    },
    async stop() {
      abort.abort();
      for (const task of tasks) await task.destroy();
      await Promise.allSettled(running.values());
    },
  };
}
