/** A background loop: one run at a time, the next one `intervalMs` after the last began, aborted by `stop`. */
import type { Logger } from '../../runtime/logger.ts';

export type Repeating = {
  /** Ends the loop and waits for the run that is under way. */
  stop: () => Promise<void>;
};

export function repeat(options: {
  name: string;
  intervalMs: number | (() => number);
  logger: Logger;
  work: () => Promise<void>;
}): Repeating {
  const { name, logger, work } = options;
  const interval = () =>
    typeof options.intervalMs === 'number' ? options.intervalMs : options.intervalMs();
  let stopped = false;
  let timer: NodeJS.Timeout | null = null;
  let failing = false;

  const run = async (): Promise<void> => {
    const startedAt = Date.now();
    try {
      await work();
      if (failing) logger.info({ loop: name }, 'recovered');
      failing = false;
    } catch (err) {
      // Once per outage: a loop that runs every second must not write the same line every second.
      if (!failing) logger.warn({ err, loop: name }, 'background work failed; it goes on');
      failing = true;
    }
    if (!stopped) {
      const wait = Math.max(interval() - (Date.now() - startedAt), 0);
      timer = setTimeout(start, wait);
    }
  };
  let running: Promise<void> = Promise.resolve();
  const start = (): void => {
    running = run();
  };
  start();
  return {
    stop: async () => {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
      await running;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
