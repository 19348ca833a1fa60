/**
 * ETH for gas out of earned USDG: an exact approval, one swap through the WETH/USDG pool of the deployment that unwraps
 * to the wallet in need, and nothing left approved. Bounded by the day, by the wallet's need and by the oracle's price.
 */
import { type Address, encodeFunctionData, erc20Abi, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import {
  navOracleAbi,
  quoterV2Abi,
  swapRouter02Abi,
  uniswapV3PoolAbi,
} from '../../contracts-abi/generated/index.ts';
import { within } from '../../runtime/deadline.ts';
import { dayBefore } from '../../runtime/money/sweep-policy.ts';
import { judgeTopUp, strictPrice, type TopUpRules } from '../policy/purse.ts';
import { makeMove, type MoveContext } from '../../runtime/money/move.ts';
import type { Holding } from '../../runtime/money/holdings.ts';

/** SwapRouter02's word for itself as the recipient of a swap: Constants.ADDRESS_THIS. */
const ROUTER_ITSELF: Address = '0x0000000000000000000000000000000000000002';
const SEND_WITHIN_SECONDS = 120n;

export type SwapContext = MoveContext & { swap: NonNullable<MoveContext['swap']> };

export type TopUpPlace = {
  client: PublicClient;
  deployment: Deployment;
  timeoutMs: number;
};

/** Takes back what an earlier swap that never came left approved. @returns whether there was anything */
export async function revokeLeftovers(
  context: SwapContext,
  holdings: readonly Holding[],
  chainSeconds: bigint,
): Promise<boolean> {
  let found = false;
  for (const { wallet, allowance } of holdings) {
    if (allowance === 0n) continue;
    found = true;
    await approve(context, wallet, 0n, chainSeconds);
  }
  return found;
}

/**
 * Tops up the wallet with the fewest transactions left, where it is in need; the wallet with the most USDG pays.
 * Call with nothing of an earlier top-up under way.
 * @param left transactions that a balance of wei is good for
 * @returns in words what was done or why not; null when no wallet is in need
 */
export async function topUp(
  context: SwapContext,
  place: TopUpPlace,
  holdings: readonly Holding[],
  rules: TopUpRules,
  left: (wei: bigint) => bigint,
  chainSeconds: bigint,
): Promise<string | null> {
  const [poorest] = holdings.toSorted((a, b) => (a.wei < b.wei ? -1 : 1));
  const [richest] = holdings.toSorted((a, b) => (a.usdg > b.usdg ? -1 : 1));
  if (poorest === undefined || richest === undefined) return null;
  const transactions = left(poorest.wei);
  if (transactions >= rules.belowTransactions) return null;
  const { client, deployment, timeoutMs } = place;
  const [[spot, average], fee] = await within(
    Promise.all([
      client.readContract({
        address: deployment.oracle,
        abi: navOracleAbi,
        functionName: 'ethPrice',
      }),
      client.readContract({
        address: deployment.wethUsdgPool,
        abi: uniswapV3PoolAbi,
        functionName: 'fee',
      }),
    ]),
    timeoutMs,
    'the ETH price',
  );
  const verdict = judgeTopUp(
    {
      left: transactions,
      usdg: richest.usdg,
      spentUsdg: await context.moves.toppedUpSince(dayBefore(context.now())),
      price: strictPrice(spot, average),
    },
    rules,
  );
  if (verdict.tag !== 'swap') return verdict.tag;
  const { amountUsdg, leastWei } = verdict;
  const pair = { tokenIn: deployment.usdg, tokenOut: deployment.weth, fee };
  // Before anything is approved: what the pool would give now.
  const { result } = await within(
    client.simulateContract({
      address: deployment.quoterV2,
      abi: quoterV2Abi,
      functionName: 'quoteExactInputSingle',
      args: [{ ...pair, amountIn: amountUsdg, sqrtPriceLimitX96: 0n }],
    }),
    timeoutMs,
    'the quote',
  );
  if (result[0] < leastWei) {
    return `the pool gives ${result[0]} wei, less than the ${leastWei} of the oracle's price less the slippage`;
  }
  const approved = await approve(context, richest.wallet, amountUsdg, chainSeconds);
  if (approved !== 'mined') return `the approval is ${approved}`;
  const swap = encodeFunctionData({
    abi: swapRouter02Abi,
    functionName: 'exactInputSingle',
    args: [
      {
        ...pair,
        recipient: ROUTER_ITSELF,
        amountIn: amountUsdg,
        amountOutMinimum: leastWei,
        sqrtPriceLimitX96: 0n,
      },
    ],
  });
  const unwrap = encodeFunctionData({
    abi: swapRouter02Abi,
    functionName: 'unwrapWETH9',
    args: [leastWei, poorest.wallet],
  });
  const deadline = chainSeconds + SEND_WITHIN_SECONDS;
  const state = await makeMove(context, {
    kind: 'topup',
    wallet: richest.wallet,
    counterparty: poorest.wallet,
    amountUsdg,
    to: deployment.swapRouter02,
    data: encodeFunctionData({
      abi: swapRouter02Abi,
      functionName: 'multicall',
      args: [deadline, [swap, unwrap]],
    }),
    notAfter: Number(deadline),
  });
  // Mined, it took exactly what was approved. Otherwise the approval must not outlive it.
  if (
    state !== null &&
    state.tag !== 'mined' &&
    state.tag !== 'queued' &&
    state.tag !== 'broadcast'
  ) {
    await approve(context, richest.wallet, 0n, chainSeconds);
  }
  return state?.tag ?? 'under way';
}

async function approve(
  context: SwapContext,
  wallet: Address,
  amount: bigint,
  chainSeconds: bigint,
): Promise<string> {
  const args = [context.swap.router, amount] as const;
  const state = await makeMove(context, {
    kind: 'approve',
    wallet,
    counterparty: context.swap.router,
    amountUsdg: amount,
    to: context.usdg,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args }),
    notAfter: Number(chainSeconds + SEND_WITHIN_SECONDS),
  });
  return state?.tag ?? 'under way';
}
