/** The block that a batch was answered from: its number and its own clock (architecture.md, Time and chain traps). */
import { type Address, multicall3Abi, parseAbi } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { optional, type Pending, type ReadBatch, required } from './read-batch.ts';

/** Unix seconds of the block that the batch was answered from: what contracts compare deadlines with. */
export function planBlockTime(batch: ReadBatch, deployment: Deployment): () => number {
  const pending = batch.add({
    to: deployment.multicall3,
    abi: multicall3Abi,
    functionName: 'getCurrentBlockTimestamp',
    args: [],
  });
  return () => Number(required(pending, 'the block time'));
}

export type BlockSeen = { number: number; time: number };

/** Inside a contract `block.number` is the parent chain's on Arbitrum: its precompile tells this chain's own. */
const ARB_SYS: Address = '0x0000000000000000000000000000000000000064';
const arbSysAbi = parseAbi(['function arbBlockNumber() view returns (uint256)']);
/** viem's own list leaves it out. */
const blockNumberAbi = parseAbi(['function getBlockNumber() view returns (uint256)']);

/**
 * Number and time of the block that the batch was answered from. Call it after every other read was added: where an
 * Anvil fork has kept the byte 0xfe of the precompile, the call burns all the gas that is left.
 */
export function planBlock(batch: ReadBatch, deployment: Deployment): () => BlockSeen {
  const time = planBlockTime(batch, deployment);
  const parent = batch.add({
    to: deployment.multicall3,
    abi: blockNumberAbi,
    functionName: 'getBlockNumber',
    args: [],
  });
  const own: Pending<bigint> = batch.add({
    to: ARB_SYS,
    abi: arbSysAbi,
    functionName: 'arbBlockNumber',
    args: [],
  });
  return () => ({
    time: time(),
    // Without the precompile the chain is an Ethereum one, and its contracts know the number.
    number: Number(optional(own) ?? required(parent, 'the block number')),
  });
}
