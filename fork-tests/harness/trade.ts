/** Buys and sells of tests that need no API: one swap per constituent on its reference pool. */
import { type Address, concatHex, encodeFunctionData, type Hex, numberToHex } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import {
  basketVaultAbi,
  quoterV2Abi,
  swapRouter02Abi,
  uniswapV3PoolAbi,
} from '../../contracts-abi/generated/index.ts';
import type { ChainClient } from '../chain/client.ts';

export type SwapCall = {
  router: Address;
  tokenIn: Address;
  tokenOut: Address;
  amountIn: bigint;
  callData: Hex;
};

type Leg = { token: Address; amount: bigint; path: (from: Address, to: Address) => Hex };

/** Swaps that obtain the constituents of exactly `shares`, and what they cost in USDG now. */
export async function buySwaps(
  client: ChainClient,
  deployment: Deployment,
  vault: Address,
  shares: bigint,
): Promise<{ swaps: SwapCall[]; cost: bigint }> {
  const legs = await legsOf(client, deployment, vault, shares, 'previewMint');
  const swaps: SwapCall[] = [];
  for (const { token, amount, path } of legs) {
    // Exact-output paths run from the token wanted back to the token paid.
    const way = path(token, deployment.usdg);
    const { result } = await client.simulateContract({
      address: deployment.quoterV2,
      abi: quoterV2Abi,
      functionName: 'quoteExactOutput',
      args: [way, amount],
    });
    const [amountIn] = result;
    const callData = encodeFunctionData({
      abi: swapRouter02Abi,
      functionName: 'exactOutput',
      args: [
        { path: way, recipient: deployment.zapper, amountOut: amount, amountInMaximum: amountIn },
      ],
    });
    const router = deployment.swapRouter02;
    swaps.push({ router, tokenIn: deployment.usdg, tokenOut: token, amountIn, callData });
  }
  return { swaps, cost: swaps.reduce((sum, { amountIn }) => sum + amountIn, 0n) };
}

/** Swaps that sell the constituents of `shares`, and what they yield in USDG now. */
export async function sellSwaps(
  client: ChainClient,
  deployment: Deployment,
  vault: Address,
  shares: bigint,
): Promise<{ swaps: SwapCall[]; yields: bigint }> {
  const legs = await legsOf(client, deployment, vault, shares, 'previewRedeem');
  const swaps: SwapCall[] = [];
  let yields = 0n;
  for (const { token, amount, path } of legs) {
    const way = path(token, deployment.usdg);
    const { result } = await client.simulateContract({
      address: deployment.quoterV2,
      abi: quoterV2Abi,
      functionName: 'quoteExactInput',
      args: [way, amount],
    });
    yields += result[0];
    const callData = encodeFunctionData({
      abi: swapRouter02Abi,
      functionName: 'exactInput',
      args: [{ path: way, recipient: deployment.zapper, amountIn: amount, amountOutMinimum: 1n }],
    });
    swaps.push({
      router: deployment.swapRouter02,
      tokenIn: token,
      tokenOut: deployment.usdg,
      amountIn: amount,
      callData,
    });
  }
  return { swaps, yields };
}

async function legsOf(
  client: ChainClient,
  deployment: Deployment,
  vault: Address,
  shares: bigint,
  preview: 'previewMint' | 'previewRedeem',
): Promise<Leg[]> {
  const [parts, amounts, wethFee] = await Promise.all([
    client.readContract({ address: vault, abi: basketVaultAbi, functionName: 'constituents' }),
    client.readContract({
      address: vault,
      abi: basketVaultAbi,
      functionName: preview,
      args: [shares],
    }),
    feeOf(client, deployment.wethUsdgPool),
  ]);
  return Promise.all(
    parts.map(async ({ token, pool, viaWeth }, index) => {
      const fee = await feeOf(client, pool);
      return {
        token,
        amount: amounts[index] ?? 0n,
        path: (from: Address, to: Address) =>
          viaWeth
            ? concatHex([from, tier(fee), deployment.weth, tier(wethFee), to])
            : concatHex([from, tier(fee), to]),
      };
    }),
  );
}

function feeOf(client: ChainClient, pool: Address): Promise<number> {
  return client.readContract({ address: pool, abi: uniswapV3PoolAbi, functionName: 'fee' });
}

function tier(fee: number): Hex {
  return numberToHex(fee, { size: 3 });
}
