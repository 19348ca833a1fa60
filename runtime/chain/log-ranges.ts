/** Logs of a long span of blocks, one range after the other, from the oldest or from the newest on. */
import { withRetry } from 'viem';
import type { LogFilter, LogReader } from './log-reader.ts';
import type { IndexedLog } from './read-logs.ts';

export type LogRange = { from: number; to: number; logs: IndexedLog[] };

/** Of a long span each range is asked for again: what fails is all of it. */
const AGAIN = { retryCount: 4, delay: ({ count }: { count: number }) => 250 * 2 ** count };

/** @throws when the node does not answer, or refuses a single block, again and again */
export async function* logRanges(
  reader: LogReader,
  filter: LogFilter,
  span: { from: number; to: number; newestFirst?: boolean },
): AsyncGenerator<LogRange> {
  let { from, to } = span;
  while (from <= to) {
    const asked = Math.min(reader.range, to - from + 1);
    const range =
      span.newestFirst === true ? { from: to - asked + 1, to } : { from, to: from + asked - 1 };
    const logs = await withRetry(() => reader.read(filter, range.from, range.to), AGAIN);
    if (logs === null) continue;
    if (span.newestFirst === true) to = range.from - 1;
    else from = range.to + 1;
    yield { ...range, logs };
  }
}
