/** What the caller wants of one action, and what the host allows at all. */
import type { Address } from 'viem';
import type { Pins } from './pins.ts';
import type { KindName } from './signable.ts';

/** USDG in base units (1e6), shares in 1e18. */
export type TradeTerms =
  | {
      type: 'trade';
      kind: 'buy';
      ticker: string;
      /** The most USDG that the trade may cost, network fee aside. */
      budget: bigint;
      slippageBps?: number;
      /** USDG base units per whole share: a plan that may pay more is refused. */
      worstPrice?: bigint;
    }
  | {
      type: 'trade';
      kind: 'sell';
      ticker: string;
      /** Exactly these. */
      shares: bigint;
      slippageBps?: number;
      /** USDG base units per whole share: a plan that may receive less is refused. */
      worstPrice?: bigint;
    };

/** Cover in whole dollars, prices in USDG base units per $1,000 of cover. */
export type CoverTerms =
  | {
      type: 'cover';
      kind: 'cover-take';
      ticker: string;
      fromBps: number;
      toBps: number;
      coverUsd: bigint;
      /** Accept less than `coverUsd` when the book holds less. */
      allowPartial?: boolean;
      /** Before the 1% fee: an offer that asks more is not taken. */
      maxPricePer1k?: bigint;
      /** Absent: the one trading now, as `chain` says. */
      week?: number;
    }
  | {
      type: 'cover';
      kind: 'cover-request';
      ticker: string;
      fromBps: number;
      toBps: number;
      coverUsd: bigint;
      pricePer1k: bigint;
      /** Absent: the one trading now, as `chain` says. */
      week?: number;
    }
  | { type: 'cover'; kind: 'cover-cancel'; listingId: bigint };

export type Terms = TradeTerms | CoverTerms;

/** What the host allows at all. */
export type Policy = {
  pins: Pins;
  /** The account that the key acts for. */
  account: Address;
  kinds: readonly KindName[];
  /** The most USDG base units that one buy or one cover may cost, network fee aside. */
  maxSpend: bigint;
  /** The most shares of one sale; absent: no cap beside the terms. */
  maxShares?: bigint;
  maxSlippageBps: number;
  /** The most network fee of one action, USDG base units. */
  maxFee: bigint;
  /** How far ahead a deadline may lie; 900 s, the module's own bound, where absent. */
  maxLifetimeSeconds?: number;
  /**
   * Says something only where the client has no chain reader. A take of cover carries ids of listings, and what they
   * insure is then the api's word alone, as is which week a request without one means. Such plans are refused unless
   * this is true; with a chain reader they are always checked.
   */
  trustCoverPlans?: boolean;
};
