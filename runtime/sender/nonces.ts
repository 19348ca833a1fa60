/**
 * Nonce bookkeeping of one wallet. No nonce is held twice, and none is left out: a nonce that comes back is the next
 * one given. What neither we hold nor the chain has seen is a hole and is reported as such.
 */
export class NonceBook {
  /** The first nonce never given. */
  #next = 0;
  #count = 0;
  readonly #held = new Map<number, string>();
  readonly #free = new Set<number>();

  get next(): number {
    return this.#next;
  }

  /** Transactions the chain has included, as last seen. */
  get count(): number {
    return this.#count;
  }

  get inFlight(): number {
    return this.#held.size;
  }

  holder(nonce: number): string | null {
    return this.#held.get(nonce) ?? null;
  }

  /** Gives the lowest nonce that is free, else the next new one. */
  allocate(key: string): number {
    const free = this.#lowestFree();
    const nonce = free ?? this.#next;
    if (free === null) this.#next += 1;
    else this.#free.delete(free);
    this.#held.set(nonce, key);
    return nonce;
  }

  /** Takes exactly this nonce for bytes that exist; false while somebody else has it or the chain consumed it. */
  take(nonce: number, key: string): boolean {
    if (nonce < this.#count) return false;
    const holder = this.#held.get(nonce);
    if (holder !== undefined) return holder === key;
    this.#occupy(nonce, key);
    return true;
  }

  /** Puts a journal's claim back (boot, reorg), whatever the chain says. */
  restore(nonce: number, key: string): void {
    this.#occupy(nonce, key);
  }

  /** The claim was never used: the nonce goes to whoever asks next. */
  release(nonce: number): void {
    if (!this.#held.delete(nonce)) return;
    if (nonce >= this.#count) this.#free.add(nonce);
    this.#trim();
  }

  /** The nonce is consumed. */
  settle(nonce: number): void {
    this.#held.delete(nonce);
  }

  /** True when the nonce is the highest ever given, so that giving it back leaves no hole. */
  isTail(nonce: number): boolean {
    return nonce === this.#next - 1;
  }

  /**
   * Takes note of the chain's transaction count. Returns true when it is past everything we ever gave: somebody else
   * sends from this key. A lower count than before (a reorg) never lowers what was given.
   */
  sync(count: number): boolean {
    const foreign = count > this.#next;
    this.#count = count;
    if (foreign) this.#next = count;
    for (const nonce of this.#free) if (nonce < count) this.#free.delete(nonce);
    this.#trim();
    return foreign;
  }

  /** Nonces that block a held one: not included, not held by us. Lowest first. */
  holes(): number[] {
    const holes: number[] = [];
    const highest = Math.max(-1, ...this.#held.keys());
    for (let nonce = this.#count; nonce < highest && holes.length < 64; nonce += 1) {
      if (!this.#held.has(nonce)) holes.push(nonce);
    }
    return holes;
  }

  /** The nonce that the chain waits for, when we hold it. */
  headOfLine(): number | null {
    return this.#held.has(this.#count) ? this.#count : null;
  }

  #occupy(nonce: number, key: string): void {
    this.#free.delete(nonce);
    this.#held.set(nonce, key);
    if (nonce >= this.#next) this.#next = nonce + 1;
  }

  #lowestFree(): number | null {
    let lowest: number | null = null;
    for (const nonce of this.#free) if (lowest === null || nonce < lowest) lowest = nonce;
    return lowest;
  }

  /** Free nonces at the end are simply not given yet. */
  #trim(): void {
    while (this.#next > this.#count && this.#free.delete(this.#next - 1)) this.#next -= 1;
  }
}
