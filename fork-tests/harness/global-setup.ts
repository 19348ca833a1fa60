/**
 * Once per run: the upstream that every test's fork starts from. Without FORK_RPC_URL it is the seeded local chain,
 * frozen (no market, no interval mining); with it, a fork of that chain with the protocol deployed on top.
 */
import type { TestProject } from 'vitest/node';
import type { Anvil } from '../anvil.ts';
import { startAnvil } from '../anvil.ts';
import { CHAIN_ARGUMENTS } from '../chain/arguments.ts';
import { startForkedChain } from '../chain/live/start.ts';
import type { Manifest } from '../chain/seed/manifest.ts';
import { loadChain, seededChain } from '../chain/state/load.ts';
import { liveUrl } from './live-url.ts';

declare module 'vitest' {
  interface ProvidedContext {
    upstream: { url: string; manifest: Manifest };
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { anvil, manifest } = await startUpstream();
  project.provide('upstream', { url: anvil.url, manifest });
  return () => anvil.stop();
}

async function startUpstream(): Promise<{ anvil: Anvil; manifest: Manifest }> {
  const progress = (step: string) => process.stderr.write(`upstream: ${step}\n`);
  const forkUrl = liveUrl();
  if (forkUrl !== undefined) return startForkedChain({ forkUrl, progress });
  const chain = await seededChain(progress);
  const anvil = await startAnvil({ args: CHAIN_ARGUMENTS });
  try {
    return { anvil, manifest: await loadChain(anvil.url, chain) };
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}
