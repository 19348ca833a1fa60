/**
 * Whether the chain's head has fallen below the rows. A node that lags shows an old head for a moment; one that stays
 * below, or is below when the process starts, has another chain: reset, or begun anew under the same deployment.
 */
import type { Logger } from '../../runtime/logger.ts';

type Below = { head: number; index: number; since: number; told: boolean };

export class HeadWatch {
  readonly #logger: Logger;
  readonly #patienceMs: number;
  readonly #now: () => number;
  #below: Below | null = null;

  /** @param options.patienceMs how long a head below the rows is taken for a lagging node's. */
  constructor(options: { logger: Logger; patienceMs: number; now?: () => number }) {
    this.#logger = options.logger;
    this.#patienceMs = options.patienceMs;
    this.#now = options.now ?? Date.now;
  }

  /** Told of every head. @param index the last block whose rows are there; null: none. */
  saw(head: number, index: number | null, caughtUp: boolean): void {
    const { since, told } = this.#below ?? { since: this.#now(), told: false };
    if (index === null || head >= index) {
      if (told) this.#logger.info({ head, index }, 'the head has reached the index again');
      this.#below = null;
      return;
    }
    this.#below = { head, index, since, told };
    const why = this.astray(caughtUp);
    if (why === null || told) return;
    this.#below.told = true;
    this.#logger.warn(
      { head, index },
      `${why}: the node lags, or its chain began anew under the same deployment file; rows stay until it shows other blocks at their heights`,
    );
  }

  /** Why the rows are not of what the chain shows now; null where nothing says so. */
  astray(caughtUp: boolean): string | null {
    if (this.#below === null) return null;
    const { head, index, since } = this.#below;
    if (caughtUp && this.#now() - since <= this.#patienceMs) return null;
    return `the chain's head (${head}) is behind the index (${index})`;
  }
}
