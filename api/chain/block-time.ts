/** The block's own clock: what contracts compare deadlines with (architecture.md, Time and chain traps). */
import { multicall3Abi } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { type ReadBatch, required } from './read-batch.ts';

/** Unix seconds of the block that the batch was answered from. */
export function planBlockTime(batch: ReadBatch, deployment: Deployment): () => number {
  const pending = batch.add({
    to: deployment.multicall3,
    abi: multicall3Abi,
    functionName: 'getCurrentBlockTimestamp',
    args: [],
  });
  return () => Number(required(pending, 'the block time'));
}
