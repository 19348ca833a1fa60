/**
 * Which chain an endpoint serves. It is asked before its first use, and again after each pause, when something else may
 * stand behind its address. One of another chain id is left out for good, since nothing that it says is about ours. One
 * of our id may be another chain all the same (a chain begun anew, a fork of before): where our contract has no code it
 * is not used, and asked again after a pause, since it may only be catching up.
 */
import type { Address } from 'viem';
import type { ReadCall } from './attempts.ts';

/** What a process is told of its endpoints. */
export type ChainVerdict =
  /** At least one serves the chain. */
  | { tag: 'right' }
  /** All have answered, and none serves it. */
  | { tag: 'foreign'; ids: readonly number[] }
  /** All have answered; none that serves the chain has our contract. */
  | { tag: 'empty' }
  /** Some have not answered. */
  | { tag: 'unknown' };

/** What is known of an endpoint: only one that is `right` may be used. */
export type Belongs = 'right' | 'foreign' | 'empty' | 'unknown';

/** The chain that is to be served. */
export type WantedChain = {
  id: number;
  /** A contract of ours that has code there; absent: the id alone tells. */
  contract?: Address | undefined;
};

export class EndpointChain {
  readonly #ask: (call: ReadCall) => Promise<unknown>;
  readonly #wanted: WantedChain | null;
  readonly #onTold: (told: ForeignChain) => void;
  #id: number | null = null;
  /** Whether our contract has code there; null while that is not known. */
  #hasContract: boolean | null = null;
  #toldEmpty = false;
  #asking: Promise<Belongs> | null = null;

  /**
   * @param wanted null: any chain will do, and nothing is asked before a use
   * @param ask the result of a call; may throw
   * @param onTold told once of an endpoint of another id, and of one without our contract until it has it
   */
  constructor(
    wanted: WantedChain | null,
    ask: (call: ReadCall) => Promise<unknown>,
    onTold: (told: ForeignChain) => void,
  ) {
    this.#wanted = wanted;
    this.#ask = ask;
    this.#onTold = onTold;
  }

  /** It is known to serve another chain id. */
  get isForeign(): boolean {
    return this.#wanted !== null && this.#id !== null && this.#id !== this.#wanted.id;
  }

  /** As far as it was told; null before. */
  get id(): number | null {
    return this.#id;
  }

  /** Something else may answer there by now. */
  doubt(): void {
    if (this.isForeign) return;
    this.#id = null;
    this.#hasContract = null;
  }

  /** Whether it may be used; asked once, whoever waits. @throws what `ask` throws */
  async check(): Promise<Belongs> {
    if (this.#wanted === null || this.#hasContract === true) return 'right';
    if (this.isForeign) return 'foreign';
    this.#asking ??= this.#read(this.#wanted).finally(() => {
      this.#asking = null;
    });
    return await this.#asking;
  }

  async #read({ id, contract }: WantedChain): Promise<Belongs> {
    const answer = await this.#ask({ method: 'eth_chainId', params: [] });
    if (typeof answer !== 'string' || !/^0x[0-9a-f]{1,13}$/i.test(answer)) return 'unknown';
    this.#id = Number(answer);
    if (this.#id !== id) {
      this.#onTold({ tag: 'foreign', id: this.#id });
      return 'foreign';
    }
    const has = contract === undefined || (await this.#hasCode(contract));
    if (has === null) return 'unknown';
    if (has) {
      this.#hasContract = true;
      this.#toldEmpty = false;
      return 'right';
    }
    if (!this.#toldEmpty && contract !== undefined) this.#onTold({ tag: 'empty', contract });
    this.#toldEmpty = true;
    return 'empty';
  }

  async #hasCode(contract: Address): Promise<boolean | null> {
    const code = await this.#ask({ method: 'eth_getCode', params: [contract, 'latest'] });
    return typeof code === 'string' && code.startsWith('0x') ? code.length > 2 : null;
  }
}

/** Asks all of them; resolves with the first that serves the chain, else when each has answered or failed. */
export async function anyServes(chains: readonly EndpointChain[]): Promise<ChainVerdict> {
  return await new Promise((resolve) => {
    const asked = chains.map(async (chain) => {
      // Expected: a silent one is a question for later.
      const belongs = await chain.check().catch(() => 'unknown' as const);
      if (belongs === 'right') resolve({ tag: 'right' });
      return belongs;
    });
    void Promise.all(asked).then((all) => {
      if (all.includes('unknown')) return resolve({ tag: 'unknown' });
      if (all.includes('empty')) return resolve({ tag: 'empty' });
      const ids = chains.flatMap(({ id }) => (id === null ? [] : [id]));
      resolve({ tag: 'foreign', ids });
    });
  });
}

/** Why an endpoint is not of our chain. */
export type ForeignChain = { tag: 'foreign'; id: number } | { tag: 'empty'; contract: Address };

/** The same as fields and words of a line of the log. */
export function foreignLine(told: ForeignChain): [fields: object, message: string] {
  return told.tag === 'foreign'
    ? [
        { chain: told.id },
        'an RPC endpoint serves another chain and is left out for good: take it out of RPC_URLS',
      ]
    : [
        { contract: told.contract },
        'an RPC endpoint serves our chain id and has no contract of ours: it is not used until it has (is it behind, or another chain? see RPC_URLS)',
      ];
}

/** What a call is told that such an endpoint does not answer. */
export const NOT_USED: Readonly<Record<Exclude<Belongs, 'right'>, string>> = {
  foreign: 'serves another chain',
  empty: 'has no contract of ours',
  unknown: 'does not tell its chain',
};
