/**
 * Blocks at a fixed pace, whether or not anybody sends: as the live chain makes them. By hand and not by Anvil's own
 * interval mining, which keeps 1,500 past states whatever it is told (see chain/heartbeat.ts).
 */
import type { ChainClient } from '../chain/client.ts';

export type Blocks = {
  /** From the next block on. */
  every(ms: number): void;
  /** Blocks that could not be mined. */
  faults(): number;
  stop(): Promise<void>;
};

const BASE_FEE = 10_000_000n;

export async function startBlocks(client: ChainClient, firstMs: number): Promise<Blocks> {
  await client.setAutomine(false);
  let everyMs = firstMs;
  let faults = 0;
  const ending = new AbortController();
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const due = performance.now() + everyMs;
      try {
        await client.setNextBlockBaseFeePerGas({ baseFeePerGas: BASE_FEE });
        await client.mine({ blocks: 1 });
      } catch {
        // Expected when the node is stopped or busy: the next one is tried all the same, and the count tells.
        faults += 1;
      }
      const left = Math.max(0, due - performance.now());
      await new Promise((resolve) => setTimeout(resolve, left));
    }
  };
  const running = run();
  return {
    every: (ms) => {
      everyMs = ms;
    },
    faults: () => faults,
    stop: async () => {
      ending.abort();
      await running;
    },
  };
}
