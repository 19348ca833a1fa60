/** Whether a module has used a nonce, and the chain's time at that block: one read, hence one block. */
import { type Address, multicall3Abi, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { sessionModuleAbi } from '../../contracts-abi/generated/index.ts';

/** `blockTime`: unix seconds. */
export type NonceState = { used: boolean; blockTime: number };

/** @throws viem's error when the chain cannot be asked. */
export async function readNonceState(
  client: PublicClient,
  deployment: Pick<Deployment, 'multicall3'>,
  id: { module: Address; account: Address; nonce: bigint },
): Promise<NonceState> {
  const [used, time] = await client.multicall({
    multicallAddress: deployment.multicall3,
    batchSize: 0,
    allowFailure: false,
    contracts: [
      {
        address: id.module,
        // The cover module's function is the same.
        abi: sessionModuleAbi,
        functionName: 'nonceUsed',
        args: [id.account, id.nonce],
      },
      {
        address: deployment.multicall3,
        abi: multicall3Abi,
        functionName: 'getCurrentBlockTimestamp',
      },
    ],
  });
  return { used, blockTime: Number(time) };
}
