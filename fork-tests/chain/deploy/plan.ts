/** What a deployment is built from. Prices are dollars x 1e18 per whole token. */
import type { Address } from 'viem';

export type ConstituentPlan = {
  token: Address;
  /** Token base units per share at genesis. */
  genesisUnits: bigint;
  /** Reference pool; null where the token has none. */
  pool: Address | null;
  viaWeth: boolean;
  /** The pool's floor for the harmonic mean liquidity (rule 1); zero without a pool. */
  minLiquidity: bigint;
  statedPrice: bigint;
};

export type BasketPlan = {
  ticker: string;
  name: string;
  thesis: string;
  group: string;
  risk: string;
  riskNote: string;
  rebalance: string;
  ordersEnabled: boolean;
  managementFeeBps: number;
  seedShares: bigint;
  /** Symbol to share of the opening NAV, as a fraction: for the deployment file alone. */
  targetWeights: Readonly<Record<string, number>>;
  constituents: readonly ConstituentPlan[];
};

export type ProtocolPlan = {
  guardian: Address;
  treasury: Address;
  wethUsdgPool: Address;
  wethMinLiquidity: bigint;
  baskets: readonly BasketPlan[];
};
