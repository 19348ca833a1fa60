/**
 * The newest blocks of the chain, each the parent of the next: hashes asked for one by one may come from replicas on
 * different chains, and do not link then. What is in here is one chain, that of the head it was led up to last.
 */
import { BlockNotFoundError, type Hex, type PublicClient } from 'viem';
import { inTurn } from '../../runtime/in-turn.ts';

export type Header = { block: number; hash: Hex; parentHash: Hex };

/** Blocks behind the head: deeper than any reorg of a chain whose blocks one sequencer orders. */
const REACH = 64;
/** Public endpoints refuse more than about twenty calls at once, and logs are asked for beside these. */
const HEADERS_AT_ONCE = 10;
/** A replica that lags does not know the newest parents yet; another one does. */
const TRIES = 3;

export class ChainTail {
  readonly #client: Pick<PublicClient, 'getBlock'>;
  readonly #floor: number;
  readonly #hashes = new Map<number, Hex>();
  readonly #leads = inTurn();
  #top = -1;

  /** Reaches down to `floor` at most. */
  constructor(client: Pick<PublicClient, 'getBlock'>, floor: number) {
    this.#client = client;
    this.#floor = floor;
  }

  get isEmpty(): boolean {
    return this.#hashes.size === 0;
  }

  /** The hash of a block on the chain of the last head; null above it, and further below it than the tail reaches. */
  at(block: number): Hex | null {
    return this.#hashes.get(block) ?? null;
  }

  /** The same, or what the node says where the tail does not reach; null when it has no such block (yet). */
  async hashOf(block: number): Promise<Hex | null> {
    return this.at(block) ?? (await this.hashNow(block));
  }

  /** The lowest block that it tells of, once it was led up to that head. */
  lowest({ block }: Header): number {
    return Math.max(block - REACH, this.#floor);
  }

  /** What the node says of a height now; null when it has no such block (yet). */
  async hashNow(block: number): Promise<Hex | null> {
    return (await this.#header({ blockNumber: BigInt(block) }))?.hash ?? null;
  }

  /**
   * Leads the tail up to a head. One that is a block of the tail already changes nothing: its node lags.
   * @throws when the parents of the head cannot be had: the tail keeps what it has come to, and the next call goes on.
   */
  leadTo(head: Header): Promise<void> {
    // Two at once would each take the blocks of the other for those of another chain.
    return this.#leads(() => this.#lead(head));
  }

  async #lead(head: Header): Promise<void> {
    if (this.at(head.block) === head.hash) return;
    const below = this.lowest(head);
    if (!(await this.#byNumber(below, head))) {
      this.#take(await this.#byParents(below, head));
    }
    // Whatever lies above is of another chain.
    for (const block of this.#hashes.keys()) {
      if (block < below || block > head.block) this.#hashes.delete(block);
    }
    this.#top = head.block;
  }

  #take(headers: readonly Header[]): void {
    for (const { block, hash } of headers) this.#hashes.set(block, hash);
    this.#top = Math.max(this.#top, ...headers.map(({ block }) => block));
  }

  /** The blocks from the tail to the head, group by group; false where they are not of one chain with it. */
  async #byNumber(below: number, head: Header): Promise<boolean> {
    if (head.block <= this.#top) return false;
    const isNew = this.#top < below;
    let next = isNew ? below : this.#top + 1;
    let parent = isNew ? null : this.at(this.#top);
    const ask = async (block: number): Promise<Header | null> =>
      block === head.block ? head : await this.#header({ blockNumber: BigInt(block) });
    while (next <= head.block) {
      const size = Math.min(HEADERS_AT_ONCE, head.block - next + 1);
      const numbers = Array.from({ length: size }, (_, index) => next + index);
      const group = await Promise.allSettled(numbers.map(ask));
      const headers: Header[] = [];
      for (const told of group) {
        if (told.status === 'rejected') {
          // Where a node answers few calls at once, each run comes so much further.
          this.#take(headers);
          throw told.reason;
        }
        const header = told.value;
        if (header === null || (parent !== null && header.parentHash !== parent)) return false;
        parent = header.hash;
        headers.push(header);
      }
      this.#take(headers);
      next += size;
    }
    return true;
  }

  /** From the head down to a block of the tail: by their hashes, which name one chain whoever answers. */
  async #byParents(below: number, head: Header): Promise<Header[]> {
    const headers = [head];
    for (let last = head; last.block > below; ) {
      if (this.at(last.block - 1) === last.parentHash) return headers;
      last = await this.#parentOf(last);
      headers.push(last);
    }
    return headers;
  }

  async #parentOf({ block, parentHash }: Header): Promise<Header> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const parent = await this.#header({ blockHash: parentHash });
      if (parent !== null) return parent;
    }
    throw new Error(`the node does not show the parent of block ${block}`);
  }

  async #header(which: { blockNumber: bigint } | { blockHash: Hex }): Promise<Header | null> {
    try {
      const { number, hash, parentHash } = await this.#client.getBlock(which);
      return { block: Number(number), hash, parentHash };
    } catch (error) {
      // expected of a replica that lags
      if (error instanceof BlockNotFoundError) return null;
      throw error;
    }
  }
}
