/**
 * The end of the process, as waits see it. Not a race against one promise that lives as long as the process: that
 * promise would keep the loser of every race, and with it every request ever answered.
 */
export type StopSignal = {
  /** The work's result, or null when the process stops first; the work itself goes on. */
  unlessStopped: <T>(work: Promise<T>) => Promise<T | null>;
  signal: () => void;
  /** Waits that would end at a stop. */
  waiting: () => number;
};

export function createStopSignal(): StopSignal {
  const waits = new Set<() => void>();
  let stopped = false;
  return {
    unlessStopped: (work) => {
      if (stopped) {
        // Its failure is still the caller's of before, who is gone.
        work.catch(() => undefined);
        return Promise.resolve(null);
      }
      return new Promise((resolve, reject) => {
        const stop = (): void => resolve(null);
        waits.add(stop);
        work.then(resolve, reject).finally(() => waits.delete(stop));
      });
    },
    signal: () => {
      stopped = true;
      for (const stop of waits) stop();
      waits.clear();
    },
    waiting: () => waits.size,
  };
}
