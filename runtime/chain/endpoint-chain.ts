/**
 * Which chain an endpoint serves. It is asked before its first use, and again after each pause, when something else may
 * stand behind its address; one of another chain is left out for good, since nothing that it says is about ours.
 */

/** What a process is told of its endpoints. */
export type ChainVerdict =
  /** At least one serves the chain. */
  | { tag: 'right' }
  /** All have answered, and none serves it. */
  | { tag: 'foreign'; ids: readonly number[] }
  /** Some have not answered. */
  | { tag: 'unknown' };

export class EndpointChain {
  readonly #ask: () => Promise<unknown>;
  readonly #expected: number | null;
  readonly #onForeign: (id: number) => void;
  #id: number | null = null;
  #asking: Promise<number | null> | null = null;

  /**
   * @param expected null: any chain will do, and nothing is asked before a use
   * @param ask the result of eth_chainId; may throw
   * @param onForeign told once
   */
  constructor(
    expected: number | null,
    ask: () => Promise<unknown>,
    onForeign: (id: number) => void,
  ) {
    this.#expected = expected;
    this.#ask = ask;
    this.#onForeign = onForeign;
  }

  /** It is known to serve another chain. */
  get isForeign(): boolean {
    return this.#expected !== null && this.#id !== null && this.#id !== this.#expected;
  }

  /** Something else may answer there by now. */
  doubt(): void {
    if (!this.isForeign) this.#id = null;
  }

  /** Its chain, null when it does not tell; asked once, whoever waits. @throws what `ask` throws */
  async read(): Promise<number | null> {
    if (this.#id !== null) return this.#id;
    this.#asking ??= this.#read().finally(() => {
      this.#asking = null;
    });
    return await this.#asking;
  }

  /** Whether it may be used. @throws what `ask` throws */
  async check(): Promise<'right' | 'foreign' | 'unknown'> {
    if (this.#expected === null) return 'right';
    const id = await this.read();
    if (id === null) return 'unknown';
    return id === this.#expected ? 'right' : 'foreign';
  }

  async #read(): Promise<number | null> {
    const answer = await this.#ask();
    if (typeof answer !== 'string' || !/^0x[0-9a-f]{1,13}$/i.test(answer)) return null;
    this.#id = Number(answer);
    if (this.isForeign) this.#onForeign(this.#id);
    return this.#id;
  }
}

/** Asks all of them; resolves with the first that serves the chain, else when each has answered or failed. */
export async function anyServes(
  chains: readonly EndpointChain[],
  chainId: number,
): Promise<ChainVerdict> {
  return await new Promise((resolve) => {
    const asked = chains.map(async (chain) => {
      // Expected: a silent one is a question for later.
      const id = await chain.read().catch(() => null);
      if (id === chainId) resolve({ tag: 'right' });
      return id;
    });
    void Promise.all(asked).then((ids) => {
      const told = ids.filter((id) => id !== null);
      resolve(told.length === ids.length ? { tag: 'foreign', ids: told } : { tag: 'unknown' });
    });
  });
}

export const FOREIGN_CHAIN =
  'an RPC endpoint serves another chain and is left out for good: take it out of RPC_URLS';
