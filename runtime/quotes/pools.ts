/** Which pools a token has: every fee tier against USDG and against WETH, as the Uniswap factory says. */
import { type Address, isAddressEqual, zeroAddress } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { uniswapV3FactoryAbi } from '../../contracts-abi/generated/index.ts';
import { type ReadBatch, required } from '../chain/read-batch.ts';
import { FEE_TIERS, type TokenPools } from './routes.ts';

/** Adds a read for each tier; the tiers at which a pool of the two exists. None for a token with itself. */
function planTiers(
  batch: ReadBatch,
  { uniswapV3Factory }: Deployment,
  a: Address,
  b: Address,
): () => number[] {
  if (isAddressEqual(a, b)) return () => [];
  const pending = FEE_TIERS.map((fee) => ({
    fee,
    pool: batch.add({
      to: uniswapV3Factory,
      abi: uniswapV3FactoryAbi,
      functionName: 'getPool',
      args: [a, b, fee],
    }),
  }));
  return () =>
    pending
      .filter(({ pool }) => required(pool, 'the Uniswap factory') !== zeroAddress)
      .map(({ fee }) => fee);
}

/** Tiers of the WETH/USDG pools. The result throws ApiError UPSTREAM when the factory does not answer. */
export function planWethTiers(batch: ReadBatch, deployment: Deployment): () => number[] {
  return planTiers(batch, deployment, deployment.weth, deployment.usdg);
}

/** Tiers of one token's pools. The result throws as {@link planWethTiers}. */
export function planTokenPools(
  batch: ReadBatch,
  deployment: Deployment,
  token: Address,
): () => TokenPools {
  const usdg = planTiers(batch, deployment, token, deployment.usdg);
  const weth = planTiers(batch, deployment, token, deployment.weth);
  return () => ({ usdg: usdg(), weth: weth() });
}
