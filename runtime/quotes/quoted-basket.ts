/** What a quote needs to know of a basket. */
import type { Address } from 'viem';
import type { Route } from './routes.ts';

export type QuotedConstituent = {
  symbol: string;
  token: Address;
  /** Token base units per 1e18 shares at genesis. */
  genesisUnits: bigint;
  /** Swaps that buy the token for USDG. Empty where there is none, or where the token is USDG itself. */
  routes: readonly Route[];
  isUsdg: boolean;
};

export type QuotedBasket = { constituents: readonly QuotedConstituent[] };
