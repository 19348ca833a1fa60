/** getLogs in ranges that the node takes. */
import type { PublicClient } from 'viem';
import type { Logger } from '../logger.ts';
import type { HeldLogs } from './held-logs.ts';
import { afterRefusal, afterSuccess, initialRange, type RangePolicy } from './ranges.ts';
import {
  type IndexedLog,
  isLimit,
  type LogFilter,
  readLogs,
  saysNothingOfTheRange,
} from './read-logs.ts';

export { inChainOrder, type LogFilter } from './read-logs.ts';

type LogReaderOptions = {
  client: PublicClient;
  logger: Logger;
  maxRange: number;
  /** Whether each log needs its block's time, at the cost of headers where the node does not tell it; default true. */
  times?: boolean;
};

/** Where so many limits came for one place, and nothing was told of it between them, they may mean the range after all. */
const LIMITS_OF_RANGE = 4;
/** Places at once: those that are asked for ahead, and some. */
const MOST_LIMITED = 16;

export class LogReader {
  readonly #options: LogReaderOptions;
  #range: RangePolicy;
  /** Ranges that were answered with a limit, and how often. */
  #limited: { from: number; to: number; times: number }[] = [];

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#range = initialRange(options.maxRange);
  }

  /** Blocks to ask for next. */
  get range(): number {
    return this.#range.size;
  }

  /**
   * Logs in chain order, or null when the node refused the range and the next one is shorter.
   * @param elsewhere takes apart what the client holds (held-logs.ts); null where it left that to us
   */
  async read<T = never>(
    filter: LogFilter,
    from: number,
    to: number,
    elsewhere?: (held: HeldLogs) => Promise<T | null>,
  ): Promise<IndexedLog[] | T | null> {
    const { client, logger, maxRange, times } = this.#options;
    try {
      const logs = await readLogs(client, filter, from, to, { times, elsewhere });
      this.#range = afterSuccess(this.#range, maxRange);
      this.#limited = this.#limited.filter((one) => one.from < from || one.from > to);
      return logs;
    } catch (error) {
      const asked = to - from + 1;
      if (asked <= 1 || !this.#mayTakeLess(error, from, to)) throw error;
      this.#range = afterRefusal(this.#range, asked);
      logger.debug({ err: error, asked, next: this.range }, 'the node refused a range of logs');
      return null;
    }
  }

  #mayTakeLess(error: unknown, from: number, to: number): boolean {
    if (!isLimit(error)) return !saysNothingOfTheRange(error);
    const known = this.#limited.find((one) => one.from <= to && one.to >= from);
    const times = (known?.times ?? 0) + 1;
    const others = this.#limited.filter((one) => one !== known).slice(1 - MOST_LIMITED);
    this.#limited = [...others, { from, to, times }];
    return times >= LIMITS_OF_RANGE;
  }
}
