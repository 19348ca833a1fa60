/**
 * Keeps a running chain's time moving: a transaction gets its own block at once, as on the live chain where a block
 * takes 0.1 s, and when nobody sends a block comes each second all the same.
 *
 * Not Anvil's own interval mining: with blocks of a second it raises the number of past states that it keeps to 1,500,
 * whatever `--prune-history` says, and these are gigabytes here.
 *
 * Also keeps the base fee near the live chain's, which Anvil lets fall to nothing while blocks are nearly empty.
 */
import { type ChainClient, reasonOf } from './client.ts';

export type Heartbeat = { stop(): Promise<void> };

const BASE_FEE = 10_000_000n;

/** `onFault` hears why a block could not be mined; the next beat tries again. */
export function startHeartbeat(
  client: ChainClient,
  onFault: (reason: string) => void = () => undefined,
  everyMs = 1_000,
): Heartbeat {
  let beating: Promise<void> | null = null;
  let lastHeight: bigint | null = null;
  const beat = async (): Promise<void> => {
    try {
      await client.setNextBlockBaseFeePerGas({ baseFeePerGas: BASE_FEE });
      const height = await client.getBlockNumber();
      // Told by the height, not the clock: on a fork chain time may run ahead.
      if (height === lastHeight) await client.mine({ blocks: 1 });
      lastHeight = await client.getBlockNumber();
    } catch (error) {
      // expected while the node is stopped or busy
      onFault(reasonOf(error));
    }
    beating = null;
  };
  const timer = setInterval(() => {
    // A slow node must not gather beats.
    beating ??= beat();
  }, everyMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await beating;
    },
  };
}
