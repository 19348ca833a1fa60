/**
 * What rarely changes: baskets with their texts, constituents, token symbols and the pools that exist. Read whole from
 * the registry, the vaults and the Uniswap factory; the registry is the only source of token addresses.
 */
import type { Address } from 'viem';
import type { QuotedConstituent } from '../../runtime/quotes/quoted-basket.ts';

export type Constituent = QuotedConstituent & {
  decimals: number;
  /** Decimals at genesis, which NAVs are computed with. */
  genesisDecimals: number;
  /** The pool that prices it, against USDG or WETH; null: none (or USDG itself). */
  pool: Address | null;
  viaWeth: boolean;
  /** Share of the opening NAV, as a fraction; null where the deployment file does not say. */
  targetWeight: number | null;
};

export type Basket = {
  ticker: string;
  name: string;
  thesis: string;
  group: string;
  /** Null for ordinary baskets. */
  risk: string | null;
  riskNote: string | null;
  rebalance: string;
  vault: Address;
  mgmtFeeBps: number;
  /** Unix seconds. */
  genesisAt: number;
  /** Set up for automated orders and agent trades. */
  ordersEnabled: boolean;
  constituents: readonly Constituent[];
};

export class Catalog {
  readonly baskets: readonly Basket[];
  readonly #byTicker: ReadonlyMap<string, Basket>;
  readonly #byVault: ReadonlyMap<string, Basket>;

  constructor(baskets: readonly Basket[]) {
    this.baskets = baskets;
    this.#byTicker = new Map(baskets.map((basket) => [basket.ticker.toUpperCase(), basket]));
    this.#byVault = new Map(baskets.map((basket) => [basket.vault.toLowerCase(), basket]));
  }

  /** By ticker, in any case of letters. */
  byTicker(ticker: string): Basket | null {
    return this.#byTicker.get(ticker.toUpperCase()) ?? null;
  }

  byVault(vault: Address): Basket | null {
    return this.#byVault.get(vault.toLowerCase()) ?? null;
  }
}
