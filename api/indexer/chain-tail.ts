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
/** Headers of leads that broke off. */
const MOST_FETCHED = 4 * REACH;
const NONE = { block: Number.POSITIVE_INFINITY, parentHash: '0x' } as const;
/** A replica that lags does not know the newest parents yet; another one does. */
const TRIES = 3;

export class ChainTail {
  readonly #client: Pick<PublicClient, 'getBlock'>;
  readonly #floor: number;
  readonly #hashes = new Map<number, Hex>();
  readonly #leads = inTurn();
  #top = -1;
  /** The lowest block that it holds: from there to the top there is no gap. */
  #lowest: Pick<Header, 'block' | 'parentHash'> = NONE;
  /** By hash, until the lead that asked for them has come to its end: one that breaks off is gone on with. */
  readonly #fetched = new Map<Hex, Header>();

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
  lowest({ block }: Pick<Header, 'block'>): number {
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
    const below = this.lowest(head);
    if (this.at(head.block) !== head.hash) {
      if (!(await this.#byNumber(below, head))) this.#take(await this.#byParents(below, head));
      // Whatever lies above is of another chain.
      this.#cut(below, head.block);
    }
    await this.#reachTo(this.lowest({ block: this.#top }));
    this.#fetched.clear();
  }

  #take(headers: readonly Header[]): void {
    for (const header of headers) {
      this.#hashes.set(header.block, header.hash);
      this.#top = Math.max(this.#top, header.block);
      if (header.block <= this.#lowest.block) this.#lowest = header;
    }
  }

  #cut(below: number, top: number): void {
    const parentHash = this.at(below - 1);
    if (parentHash !== null) this.#lowest = { block: below, parentHash };
    for (const block of this.#hashes.keys()) {
      if (block < below || block > top) this.#hashes.delete(block);
    }
    this.#top = top;
  }

  #clear(): void {
    this.#hashes.clear();
    this.#top = -1;
    this.#lowest = NONE;
  }

  /** Where a group was not answered, the tail begins further up: what is missing is had by the hashes of parents. */
  async #reachTo(below: number): Promise<void> {
    while (!this.isEmpty && this.#lowest.block > below) {
      this.#take([await this.#parentOf(this.#lowest)]);
    }
  }

  /** The blocks from the tail to the head, group by group; false where they are not of one chain with it. */
  async #byNumber(below: number, head: Header): Promise<boolean> {
    if (head.block <= this.#top) return false;
    // What is held further down is of a chain that may have been replaced since.
    if (this.#top < below) this.#clear();
    let next = this.#top < 0 ? below : this.#top + 1;
    let parent = this.at(this.#top);
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
    // Nothing of the tail is of this chain.
    this.#clear();
    return headers;
  }

  async #parentOf({ block, parentHash }: Pick<Header, 'block' | 'parentHash'>): Promise<Header> {
    const known = this.#fetched.get(parentHash);
    if (known !== undefined) return known;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const parent = await this.#header({ blockHash: parentHash });
      if (parent === null) continue;
      if (this.#fetched.size >= MOST_FETCHED) this.#fetched.clear();
      this.#fetched.set(parentHash, parent);
      return parent;
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
