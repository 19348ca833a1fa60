/**
 * Runs `work` over `items`, at most `width` at once, in their order; starts no more once `enough` says so, or one failed.
 * What was begun has ended when this returns or throws: nobody may take up a work that still runs.
 * @throws what the first that failed threw
 */
export async function runBounded<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
  enough: () => boolean,
): Promise<void> {
  let next = 0;
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    while (next < items.length && failures.length === 0 && !enough()) {
      const item = items[next];
      next += 1;
      try {
        if (item !== undefined) await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
