import { payoutData } from '../../runtime/cover/cover-work.ts';
import type { Address } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { ApiError } from '../../runtime/errors.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { jobsQuery } from '../schemas/reads.ts';
import { coverPayoutsBody } from '../schemas/responses/cover-payouts.ts';

const NOTE =
  'Anyone may send these, paused or not. The fee is paid to the executor named in tx; without ?executor it goes to whoever sends it. Fees come out of the cover market’s fee pool while it lasts. Snapshots first: each has one hour. Simulate before sending.';

export const coverPayouts = defineEndpoint({
  method: 'get',
  path: '/v1/cover/payouts',
  id: 'coverPayouts',
  tag: 'Cover',
  summary: 'Snapshots, settlements, voids and payouts of cover that anyone may execute now.',
  query: jobsQuery,
  response: coverPayoutsBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  deadline: 'own',
  answer: async ({ payouts, service }, { query }) => {
    requirePayee(service.deployment, query.executor);
    const scan = await payouts.current();
    return {
      asOf: new Date(scan.chainTime * 1_000).toISOString(),
      payouts: scan.payouts.map((payout) => ({
        type: payout.type,
        contract: payout.contract,
        id: payout.id.toString(),
        ticker: payout.ticker,
        vault: payout.vault,
        week: payout.week,
        feeUsdg: payout.feeUsdg.toString(),
        positions: payout.positions.map(String),
        tx: { to: payout.contract, data: payoutData(payout, query.executor), value: '0' },
      })),
      skipped: scan.skipped.map(({ type, id, reason }) => ({ type, id: id.toString(), reason })),
      note: NOTE,
    };
  },
});

/** CoverLedger `_payee`: none of the protocol's own addresses. @throws ApiError BAD_REQUEST. */
function requirePayee(deployment: Deployment, executor: Address | undefined): void {
  const { coverMarket, usdg, oracle, registry, pause } = deployment;
  const refused = [coverMarket, usdg, oracle, registry, pause].map((each) => each.toLowerCase());
  if (executor === undefined || !refused.includes(executor.toLowerCase())) return;
  throw new ApiError(
    'BAD_REQUEST',
    'executor: the market pays no fee to this address of the protocol',
  );
}
