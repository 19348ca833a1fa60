/**
 * A chain of its own for each test file, back at the same state for each test: an Anvil fork of the upstream,
 * a snapshot before each test and a revert after it.
 *
 *   const fork = useFork();
 *   test('…', async () => { await fork.pushPrice('NVDA', 0.95); await fork.warp(600); … });
 */
import { afterAll, afterEach, beforeAll, beforeEach, inject } from 'vitest';
import { startAnvil } from '../anvil.ts';
import { CHAIN_ARGUMENTS } from '../chain/arguments.ts';
import { loadChain, seededChain } from '../chain/state/load.ts';
import { type Fork, forkOn } from './chain-handle.ts';
import { liveUrl } from './live-url.ts';

export type { Fork } from './chain-handle.ts';

export type ForkOptions = {
  /** Seconds between blocks; absent: a block per transaction. */
  blockTime?: number;
  args?: readonly string[];
  /**
   * The seeded chain itself instead of a fork of it, for tests that fork it once more: an Anvil that is a fork and is
   * forked hangs now and then, for ever, between its own upstream and who asks it. With FORK_RPC_URL a fork all the same.
   */
  whole?: boolean;
};

/** Boots an Anvil fork of the upstream, at the present time. The caller stops it. */
export async function startFork(options: ForkOptions = {}): Promise<Fork> {
  const { url, manifest } = inject('upstream');
  if (options.whole === true && liveUrl() === undefined) return await startWhole(options);
  const anvil = await startAnvil({
    forkUrl: url,
    args: [
      ...CHAIN_ARGUMENTS,
      // The upstream is ours: nothing to throttle, and nothing to keep under the user's home.
      '--no-rate-limit',
      '--no-storage-caching',
      ...(options.args ?? []),
    ],
    ...(options.blockTime === undefined ? {} : { blockTime: options.blockTime }),
  });
  const fork = forkOn(anvil, manifest);
  await catchUp(fork);
  return fork;
}

async function startWhole(options: ForkOptions): Promise<Fork> {
  const chain = await seededChain(() => undefined);
  const anvil = await startAnvil({
    args: [...CHAIN_ARGUMENTS, ...(options.args ?? [])],
    ...(options.blockTime === undefined ? {} : { blockTime: options.blockTime }),
  });
  try {
    const fork = forkOn(anvil, await loadChain(anvil.url, chain));
    await catchUp(fork);
    return fork;
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}

/** Registers the hooks; the fork can be used inside tests and hooks of the file, not while it is collected. */
export function useFork(options: ForkOptions = {}): Fork {
  let current: Fork | undefined;
  let snapshot: `0x${string}` | undefined;
  beforeAll(async () => {
    current = await startFork(options);
  });
  afterAll(() => current?.anvil.stop());
  beforeEach(async () => {
    if (current === undefined) return;
    snapshot = await current.client.snapshot();
    await catchUp(current);
  });
  afterEach(async () => {
    if (snapshot !== undefined) await current?.client.revert({ id: snapshot });
  });
  return new Proxy({} as Fork, {
    get(_, name) {
      if (current === undefined) throw new Error('the fork runs inside tests only');
      return current[name as keyof Fork];
    },
  });
}

/** Mines a block at the present when the chain has fallen behind: the upstream stands still while tests run. */
async function catchUp(fork: Fork): Promise<void> {
  const present = Math.floor(Date.now() / 1_000);
  if ((await fork.now()) >= present) return;
  await fork.client.setNextBlockTimestamp({ timestamp: BigInt(present) });
  await fork.client.mine({ blocks: 1 });
}
