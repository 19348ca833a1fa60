import { sendFresh } from '../http/json-body.ts';
import { fillData } from '../jobs/scan.ts';
import { jobsQuery } from '../schemas/reads.ts';
import type { RouteContext } from './context.ts';

const NOTE =
  'Anyone may send these. The fee is paid to the executor named in tx; without ?executor it goes to whoever sends it. When a fill misses its floor, armData to the same contract starts a price auction. Simulate before sending.';

/** GET /v1/jobs: triggered exits and limit buys that anyone may execute for the executor fee. */
export function jobsRoute({ http, board }: RouteContext): void {
  http.route('get', '/v1/jobs', async (request, response) => {
    const { executor } = jobsQuery.parse(request.query);
    const scan = await board.current();
    sendFresh(request, response, {
      asOf: new Date(scan.chainTime * 1_000).toISOString(),
      jobs: scan.jobs.map((job) => ({
        type: job.type,
        contract: job.contract,
        id: job.id,
        ticker: job.ticker,
        vault: job.vault,
        feeUsdg: job.feeUsdg.toString(),
        slippageBps: job.slippageBps,
        tx: { to: job.contract, data: fillData(job, executor), value: '0' },
        armData: job.armData,
      })),
      skipped: scan.skipped,
      note: NOTE,
    });
  });
}
