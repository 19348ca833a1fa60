/** What a seeded chain holds beside the deployment: enough to trade in its pools and to move their prices. */
import type { Address } from 'viem';
import { z } from 'zod';
import { deploymentSchema } from '../../../contracts-abi/deployment.ts';
import type { Pair } from '../price.ts';

const address = deploymentSchema.shape.usdg;

const poolSchema = z.object({
  address,
  quote: z.enum(['USDG', 'WETH']),
  fee: z.int().positive(),
});

const tokenSchema = z.object({
  symbol: z.string().min(1),
  address,
  decimals: z.int().min(0).max(36),
  /** Dollars per whole token when the chain was seeded; zero where it does not trade. */
  price: z.number().min(0),
  beta: z.number(),
  /** The reference pool first. */
  pools: z.array(poolSchema),
});

export const manifestSchema = z.object({
  deployment: deploymentSchema,
  /** The MarketMaker contract, owned by the dev account of that role. */
  maker: address,
  /** WETH first: the others' prices through it follow. */
  tokens: z.array(tokenSchema).min(2),
});

export type SeededPool = z.infer<typeof poolSchema>;
export type SeededToken = z.infer<typeof tokenSchema>;
export type Manifest = z.infer<typeof manifestSchema>;

/** Throws when the manifest knows no such token. */
export function tokenOf(manifest: Manifest, symbol: string): SeededToken {
  const token = manifest.tokens.find((candidate) => candidate.symbol === symbol);
  if (token === undefined) throw new Error(`no token ${symbol} on this chain`);
  return token;
}

/** Throws when the deployment knows no such basket. */
export function vaultOf(manifest: Manifest, ticker: string): Address {
  const basket = manifest.deployment.baskets.find((candidate) => candidate.ticker === ticker);
  if (basket === undefined) throw new Error(`no basket ${ticker} on this chain`);
  return basket.vault;
}

export function pairOf(
  manifest: { deployment: Pick<Manifest['deployment'], 'usdg' | 'weth'> },
  token: SeededToken,
  pool: SeededPool,
): Pair {
  const viaWeth = pool.quote === 'WETH';
  return {
    token: token.address,
    tokenDecimals: token.decimals,
    quote: viaWeth ? manifest.deployment.weth : manifest.deployment.usdg,
    quoteDecimals: viaWeth ? 18 : 6,
  };
}
