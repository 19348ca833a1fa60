/**
 * Runs `work` over `items`, at most `width` at once, in their order; starts no more once `enough` says so, or one failed.
 * @throws what the first that failed threw, while those that were begun may still run
 */
export async function runBounded<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
  enough: () => boolean,
): Promise<void> {
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !failed && !enough()) {
      const item = items[next];
      next += 1;
      try {
        if (item !== undefined) await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
}
