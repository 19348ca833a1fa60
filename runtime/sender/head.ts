/** The chain's head as seen so far. One endpoint may answer from the past, so time here only runs forward. */
import type { Hex } from 'viem';
import { quantity } from './classify.ts';
import type { RpcAnswer, RpcCall } from './rpc.ts';

export type Block = {
  number: bigint;
  hash: Hex;
  /** Unix seconds. */
  timestamp: number;
  /** Wei per gas. */
  baseFee: bigint;
};

export const latestBlock: RpcCall = { method: 'eth_getBlockByNumber', params: ['latest', false] };

/** The header of an eth_getBlockByNumber answer, or null when there is none. */
export function readBlock(answer: RpcAnswer | undefined): Block | null {
  if (answer?.tag !== 'result' || typeof answer.result !== 'object' || answer.result === null) {
    return null;
  }
  const { number, hash, timestamp, baseFeePerGas } = answer.result as Record<string, unknown>;
  const height = quantity(number);
  const time = quantity(timestamp);
  if (height === null || time === null || typeof hash !== 'string') return null;
  return {
    number: height,
    hash: hash as Hex,
    timestamp: Number(time),
    baseFee: quantity(baseFeePerGas) ?? 0n,
  };
}

export type HeadChange =
  /** Higher than before. */
  | 'advanced'
  | 'same'
  /** Another block at this height, or a lower head that has stayed: receipts may be gone. */
  | 'reorganised'
  /** Older than what is known: nothing may be decided on what came with it. */
  | 'behind';

/** A lower head is believed when this many reads in a row agree over this time. */
const BELIEVE_LOWER_READS = 4;
const BELIEVE_LOWER_MS = 2_000;

export class Head {
  #block: Block | null = null;
  #seenAt = 0;
  #behindSince = 0;
  #behindReads = 0;

  get block(): Block | null {
    return this.#block;
  }

  /** Milliseconds since the newest block was last confirmed by a read. */
  age(now: number): number {
    return this.#block === null ? Number.POSITIVE_INFINITY : now - this.#seenAt;
  }

  observe(block: Block, now: number): HeadChange {
    const known = this.#block;
    if (known !== null && block.number < known.number) {
      if (this.#behindReads === 0) this.#behindSince = now;
      this.#behindReads += 1;
      const stayed = now - this.#behindSince >= BELIEVE_LOWER_MS;
      if (this.#behindReads < BELIEVE_LOWER_READS || !stayed) return 'behind';
    }
    this.#behindReads = 0;
    this.#block = block;
    this.#seenAt = now;
    if (known === null || block.number > known.number) return 'advanced';
    return block.hash === known.hash ? 'same' : 'reorganised';
  }
}
