/** Moves a market of the synthetic live chain by a real swap. */
import type { Hex } from 'viem';
import { localTokenAbi, swapRouter02Abi } from '../../../contracts-abi/generated/index.ts';
import { LIVE } from '../../../contracts-abi/live-addresses.ts';
import { type ChainClient, write } from '../client.ts';
import { devAccount } from '../seed/accounts.ts';

/** Buys `token` with USDG until it costs so many basis points more, about. */
export async function raisePrice(client: ChainClient, token: Hex, bps: number): Promise<void> {
  const whale = devAccount('dave').account;
  // 300,000 dollars on each side, over the full range: the price goes with the square of what is on one side.
  const amountIn = BigInt(Math.round(300_000e6 * (Math.sqrt(1 + bps / 10_000) - 1)));
  const call = { address: LIVE.usdg, abi: localTokenAbi } as const;
  await write(client, whale, { ...call, functionName: 'mint', args: [whale.address, amountIn] });
  await write(client, whale, {
    ...call,
    functionName: 'approve',
    args: [LIVE.swapRouter02, amountIn],
  });
  await write(client, whale, {
    address: LIVE.swapRouter02,
    abi: swapRouter02Abi,
    functionName: 'exactInputSingle',
    args: [
      {
        tokenIn: LIVE.usdg,
        tokenOut: token,
        fee: 500,
        recipient: whale.address,
        amountIn,
        amountOutMinimum: 0n,
        sqrtPriceLimitX96: 0n,
      },
    ],
  });
}
