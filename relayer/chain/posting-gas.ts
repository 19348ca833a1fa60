/**
 * The gas that an Orbit chain adds to a transaction for posting its bytes to the parent chain. Such a chain charges it
 * on top of the execution, and `eth_estimateGas` counts it; a simulated block does not. Its nodes tell it through
 * NodeInterface, an address without code that they answer for.
 */
import { type Address, decodeAbiParameters, encodeFunctionData, type Hex, parseAbi } from 'viem';
import type { PublicClient } from 'viem';
import { steadyNow } from '../../runtime/clock.ts';

export type PostingGas = {
  /** What a transaction with this call data will be charged; null where the node did not say. */
  of(call: { to: Address; data: Hex }): Promise<bigint | null>;
};

const NODE_INTERFACE: Address = '0x00000000000000000000000000000000000000C8';
const nodeInterfaceAbi = parseAbi([
  'function gasEstimateL1Component(address to, bool contractCreation, bytes data) payable returns (uint64 gasEstimateForL1, uint256 baseFee, uint256 l1BaseFeeEstimate)',
]);
const ANSWER = [{ type: 'uint64' }, { type: 'uint256' }, { type: 'uint256' }] as const;
/** A chain without it is not asked with every action. */
const ASK_AGAIN_MS = 60_000;

export function createPostingGas(client: PublicClient, now: () => number = steadyNow): PostingGas {
  let noneUntil = Number.NEGATIVE_INFINITY;
  return {
    of: async ({ to, data }) => {
      if (now() < noneUntil) return 0n;
      const question = encodeFunctionData({
        abi: nodeInterfaceAbi,
        functionName: 'gasEstimateL1Component',
        args: [to, false, data],
      });
      try {
        const answer = await client.request({
          method: 'eth_call',
          params: [{ to: NODE_INTERFACE, data: question }, 'latest'],
        });
        if (answer === '0x') {
          noneUntil = now() + ASK_AGAIN_MS;
          return 0n;
        }
        const [gas] = decodeAbiParameters(ANSWER, answer);
        return gas;
      } catch {
        // Expected of a node that is out of reach or answers for the address in some other way.
        return null;
      }
    },
  };
}
