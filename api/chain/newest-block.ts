/**
 * The newest block that any node has shown us lately. A node that lags answers from the past: what it would have us
 * refuse is asked again at this block by number, which a node that lacks it cannot answer (field case 37).
 */
import { numberToHex, type PublicClient } from 'viem';
import { ApiError, type ErrorCode } from '../../runtime/errors.ts';
import type { BlockId } from '../../runtime/chain/read-batch.ts';

export class NewestBlock {
  #number = 0;
  #at = 0;
  readonly #memoryMs: number;

  /** @param memoryMs after this long without being seen again a height is forgotten: the chain was reorganised. */
  constructor(memoryMs: number) {
    this.#memoryMs = memoryMs;
  }

  saw(number: number): void {
    const forgotten = Date.now() - this.#at > this.#memoryMs;
    if (number < this.#number && !forgotten) return;
    this.#number = number;
    this.#at = Date.now();
  }

  /** The head now, or a newer one that was seen. @throws ApiError UPSTREAM. */
  async ask(client: PublicClient): Promise<BlockId> {
    try {
      this.saw(Number(await client.request({ method: 'eth_blockNumber' })));
    } catch (cause) {
      throw new ApiError('UPSTREAM', 'the chain cannot be read now: retry', { cause });
    }
    return numberToHex(this.#number);
  }
}

/** Refusals that a state from blocks ago can cause. */
const DEPEND_ON_STATE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'INSUFFICIENT_FUNDS',
  'INSUFFICIENT_SHARES',
  'NOT_A_HOLDER',
  'NOT_FOUND',
  'NO_COVER',
  'ORDER_NOT_OPEN',
  'SESSION_INACTIVE',
  'SESSION_LIMIT',
]);

/**
 * Builds from the latest block; a refusal that an old state can cause stands only if the newest block says the same.
 * @throws ApiError what `build` throws; UPSTREAM when the node asked does not have the newest block.
 */
export async function refuseSurely<T>(
  chain: { client: PublicClient; newest: NewestBlock },
  build: (block: BlockId) => Promise<T>,
): Promise<T> {
  try {
    return await build('latest');
  } catch (error) {
    if (!(error instanceof ApiError) || !DEPEND_ON_STATE.has(error.code)) throw error;
    return await build(await chain.newest.ask(chain.client));
  }
}
