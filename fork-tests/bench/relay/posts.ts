/** Posts bodies over keep-alive connections, so many at once, and times each until its answer. */

export type Posted = { perSecond: number; times: number[] };

/** @throws when any answer is not of a transaction that was sent */
export async function postAll(
  url: string,
  bodies: readonly string[],
  concurrency: number,
): Promise<Posted> {
  const times: number[] = [];
  const left = [...bodies];
  const worker = async (): Promise<void> => {
    for (let body = left.pop(); body !== undefined; body = left.pop()) {
      const started = performance.now();
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      const answer = (await response.json()) as { ok?: boolean; hash?: string };
      if (answer.ok !== true || answer.hash === undefined) {
        throw new Error(`${response.status} ${JSON.stringify(answer)}`);
      }
      times.push(performance.now() - started);
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { perSecond: bodies.length / ((performance.now() - started) / 1_000), times };
}

/** @param part of one, 0.99 for p99 */
export function percentile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  const found = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  if (found === undefined) throw new RangeError('nothing was timed');
  return found;
}
