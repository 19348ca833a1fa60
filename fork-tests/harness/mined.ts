import type { Hex } from 'viem';
import { protocolPauseAbi } from '../../contracts-abi/generated/index.ts';
import { receiptOf } from '../chain/client.ts';
import type { Fork } from './chain-handle.ts';

/**
 * Waits until what is being sent is mined, and throws unless it succeeded. Anvil answers a sent transaction
 * before its block is made, with a block per transaction too: what is read next may still be the state before.
 */
export async function mined(
  fork: Fork,
  sending: Hex | Promise<Hex>,
  timeoutMs = 20_000,
): Promise<void> {
  const hash = await sending;
  const { status } = await receiptOf(fork.client, hash, timeoutMs);
  if (status !== 'success') throw new Error(`${hash} reverted`);
}

/** The guardian stops buys, fills and session actions. */
export async function pauseProtocol(fork: Fork): Promise<void> {
  const pausing = fork.userClient('guardian').writeContract({
    address: fork.deployment.pause,
    abi: protocolPauseAbi,
    functionName: 'pause',
    args: [],
  });
  await mined(fork, pausing);
}
