/** What our wallets hold, in one call. */
import { type Address, erc20Abi, multicall3Abi, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { within } from '../deadline.ts';

export type Holding = {
  wallet: Address;
  wei: bigint;
  /** USDG base units. */
  usdg: bigint;
  /** What the router may still take of it. */
  allowance: bigint;
};

/**
 * @param blockNumber of that very block; absent: the latest of whichever node answers
 * @throws when the chain does not answer in time
 */
export async function readHoldings(
  client: PublicClient,
  wallets: readonly Address[],
  at: Pick<Deployment, 'usdg' | 'swapRouter02' | 'multicall3'>,
  timeoutMs: number,
  blockNumber?: bigint,
): Promise<Holding[]> {
  const usdg = { address: at.usdg, abi: erc20Abi } as const;
  const read = client.multicall({
    allowFailure: false,
    ...(blockNumber === undefined ? {} : { blockNumber }),
    contracts: wallets.flatMap((wallet) => [
      {
        address: at.multicall3,
        abi: multicall3Abi,
        functionName: 'getEthBalance' as const,
        args: [wallet] as const,
      },
      { ...usdg, functionName: 'balanceOf' as const, args: [wallet] as const },
      { ...usdg, functionName: 'allowance' as const, args: [wallet, at.swapRouter02] as const },
    ]),
  });
  const answers = await within<readonly bigint[]>(read, timeoutMs, 'the balances');
  return wallets.map((wallet, index) => ({
    wallet,
    wei: answers[3 * index] ?? 0n,
    usdg: answers[3 * index + 1] ?? 0n,
    allowance: answers[3 * index + 2] ?? 0n,
  }));
}
