/** Brings a bare Anvil to the seeded chain at the present time, from the cache or by building it. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rpc, startAnvil } from '../../anvil.ts';
import { CHAIN_ARGUMENTS } from '../arguments.ts';
import { connect } from '../client.ts';
import type { Progress } from '../deploy/protocol.ts';
import { buildArguments, buildChain } from '../seed/build.ts';
import type { Manifest } from '../seed/manifest.ts';
import { type CachedChain, readCache, slimState, writeCache } from './cache.ts';
import { stateKey } from './key.ts';

/** `.cache` at the root of the repo. */
const CACHE_FOLDER = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '.cache');

/**
 * Built states end this many seconds before the clock: more than the reference's ten minutes. So the first block at the
 * present finds the average at the spot price, in a state built just now as in one built a week ago.
 */
const LAG = 700;

/** The seeded chain of these sources: read, or built and stored. */
export async function seededChain(
  progress: Progress = () => undefined,
  folder: string = CACHE_FOLDER,
  build: (progress: Progress) => Promise<CachedChain> = buildState,
): Promise<CachedChain> {
  const key = stateKey();
  const cached = await readCache(folder, key);
  // A state from the future (the clock was set back) could not be brought to the present.
  if (cached.tag === 'hit' && cached.chain.timestamp < now()) return cached.chain;
  if (cached.tag === 'corrupt') progress('the cached chain is damaged: building it again');
  const chain = await build(progress);
  await writeCache(folder, key, chain);
  return chain;
}

/**
 * Loads the state into the Anvil at `url` and mines one block at the present. References are valid in that block
 * however old the state is: a v3 pool extends its last observation to the present at the pool's present price and
 * liquidity, and more than the window's ten minutes have passed or been traded through.
 */
export async function loadChain(url: string, chain: CachedChain): Promise<Manifest> {
  await rpc(url, 'anvil_loadState', [chain.state]);
  await rpc(url, 'evm_setNextBlockTimestamp', [Math.max(now(), chain.timestamp + 1)]);
  await rpc(url, 'evm_mine');
  return chain.manifest;
}

async function buildState(progress: Progress): Promise<CachedChain> {
  const endsAt = now() - LAG;
  const anvil = await startAnvil({ args: [...CHAIN_ARGUMENTS, ...buildArguments(endsAt)] });
  try {
    const client = connect(anvil.url);
    const manifest = await buildChain(client, endsAt, progress);
    progress('storing the chain');
    const state = await rpc<`0x${string}`>(anvil.url, 'anvil_dumpState');
    const { timestamp } = await client.getBlock();
    return { manifest, timestamp: Number(timestamp), state: await slimState(state) };
  } finally {
    await anvil.stop();
  }
}

function now(): number {
  return Math.floor(Date.now() / 1_000);
}
