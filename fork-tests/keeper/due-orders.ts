/**
 * Due orders, made once per file by way of the real api, and the jobs that it lists for them. Each test starts from
 * the same state of the chain (harness/fork.ts), so each finds the same orders open.
 */
import { rmSync } from 'node:fs';
import type { Hex } from 'viem';
import { beforeAll } from 'vitest';
import { launchApi } from '../api/use-api.ts';
import type { Fork } from '../harness/fork.ts';
import { realJobs, type WireJob } from './job-server.ts';
import { buyShares, moveHealth, placeStop } from './orders.ts';

export type DueOrders = { readonly ids: readonly Hex[]; readonly jobs: readonly WireJob[] };

/** Registers the hook: `count` stops of `dollars` of HEALTH each, all due. Call after `useFork`. */
export function useDueOrders(
  fork: Fork,
  count = 1,
  dollars = 200,
): DueOrders & { first(): { id: Hex; job: WireJob } } {
  const ids: Hex[] = [];
  const jobs: WireJob[] = [];
  beforeAll(async () => {
    const api = await launchApi(fork.url, fork.deployment);
    try {
      const shares = await buyShares(fork, api, 'alice', 'HEALTH', dollars * count);
      for (let i = 0; i < count; i += 1) {
        ids.push(await placeStop(fork, api, 'alice', 'HEALTH', shares / BigInt(count), 0.97));
      }
      await moveHealth(fork, 0.95);
      await api.settled();
      jobs.push(...(await realJobs(api.url)));
    } finally {
      await api.stop();
      rmSync(api.folder, { recursive: true, force: true });
    }
    if (jobs.length !== count) throw new Error(`the api lists ${jobs.length} jobs of ${count}`);
  });
  return {
    ids,
    jobs,
    first: () => {
      const [id] = ids;
      const job = jobs.find((candidate) => candidate.id === id);
      if (id === undefined || job === undefined)
        throw new Error('due orders exist inside tests only');
      return { id, job };
    },
  };
}
