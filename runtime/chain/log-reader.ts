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

/** So many limits in a row, with no range taken between them, may mean the range after all. */
const LIMITS_IN_A_ROW = 8;

export class LogReader {
  readonly #options: LogReaderOptions;
  #range: RangePolicy;
  #limits = 0;

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
      this.#limits = 0;
      return logs;
    } catch (error) {
      const asked = to - from + 1;
      if (asked <= 1 || !this.#mayTakeLess(error)) throw error;
      this.#range = afterRefusal(this.#range, asked);
      logger.debug({ err: error, asked, next: this.range }, 'the node refused a range of logs');
      return null;
    }
  }

  #mayTakeLess(error: unknown): boolean {
    if (!isLimit(error)) return !saysNothingOfTheRange(error);
    this.#limits = (this.#limits + 1) % LIMITS_IN_A_ROW;
    return this.#limits === 0;
  }

  /** The whole of [from, to], in as many ranges as it takes. */
  async readAll(filter: LogFilter, from: number, to: number): Promise<IndexedLog[]> {
    const found: IndexedLog[][] = [];
    let position = from;
    while (position <= to) {
      const end = Math.min(position + this.range - 1, to);
      const logs = await this.read(filter, position, end);
      if (logs === null) continue;
      found.push(logs);
      position = end + 1;
    }
    return found.flat();
  }
}
