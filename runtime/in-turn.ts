/** Work that must not overlap: one after another, in the order of asking; what fails holds nobody up. */

/** Runs what it is given one at a time. */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  const byKey = inTurnByKey();
  return (work) => byKey('', work);
}

/** Runs what it is given under one key one at a time, and that of other keys meanwhile; keeps no key that is idle. */
export function inTurnByKey(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}
