/** The upstream of the project `live-fork`: a fork of the synthetic live chain, the protocol deployed on top. */
import type { TestProject } from 'vitest/node';
import { startForkedChain } from '../chain/live/start.ts';
import { startSyntheticLive } from '../chain/live/synthetic.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const live = await startSyntheticLive();
  try {
    const { anvil, manifest } = await startForkedChain({ forkUrl: live.url });
    project.provide('upstream', { url: anvil.url, manifest });
    return async () => {
      await anvil.stop();
      await live.stop();
    };
  } catch (error) {
    await live.stop();
    throw error;
  }
}
