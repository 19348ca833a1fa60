/** Runs at most so many works at once; who comes beyond them waits in the order of coming. */
export function atMost(width: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = width;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // The place goes over to whoever waits: nobody comes between.
      if (next === undefined) free += 1;
      else next();
    }
  };
}
