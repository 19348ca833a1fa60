import { defineEndpoint } from '../http/endpoint.ts';
import { fillData } from '../jobs/scan.ts';
import { jobsQuery } from '../schemas/reads.ts';
import { jobsBody } from '../schemas/responses/jobs.ts';

const NOTE =
  'Anyone may send these. The fee is paid to the executor named in tx; without ?executor it goes to whoever sends it. When a fill misses its floor, armData to the same contract starts a price auction. Simulate before sending.';

export const jobs = defineEndpoint({
  method: 'get',
  path: '/v1/jobs',
  id: 'jobs',
  tag: 'Jobs',
  summary: 'What anyone may execute now for the executor fee.',
  query: jobsQuery,
  response: jobsBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  deadline: 'own',
  answer: async ({ board }, { query }) => {
    const scan = await board.current();
    return {
      asOf: new Date(scan.chainTime * 1_000).toISOString(),
      jobs: scan.jobs.map((job) => ({
        type: job.type,
        contract: job.contract,
        id: job.id,
        ticker: job.ticker,
        vault: job.vault,
        feeUsdg: job.feeUsdg.toString(),
        slippageBps: job.slippageBps,
        slot: job.slot,
        tx: { to: job.contract, data: fillData(job, query.executor), value: '0' },
        armData: job.armData,
      })),
      skipped: [...scan.skipped],
      note: NOTE,
    };
  },
});
