import { toNumber } from '../../contracts-abi/rounding.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { addressPath } from '../schemas/reads.ts';
import { strategiesBody } from '../schemas/responses/strategies.ts';
import { requireIndex } from '../service.ts';

/**
 * One row for each exit, limit buy and schedule of the owner that has executed at least once, in the order of their
 * first execution. Open or over makes no difference; what never executed has no row.
 */
export const strategies = defineEndpoint({
  method: 'get',
  path: '/v1/strategies/{address}',
  id: 'strategies',
  tag: 'Reads',
  summary: 'What the orders and schedules of an owner have executed so far.',
  description:
    'One row for each exit, limit buy and schedule that has executed at least once, open or over. buys and sold count executions; spentUsd is what the buys cost, fees included, and receivedUsd what the sales paid out, fees deducted. What an escrow gave back unspent is not counted.',
  params: addressPath,
  response: strategiesBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  answer: async ({ service }, { params }) => {
    requireIndex(service);
    const { ledger, marks } = service;
    const catalog = marks.catalog();
    const executions = await ledger.executionsOf(params.address);
    return {
      address: params.address,
      strategies: executions.map(({ id, vault, via, buys, sells, spent, received }) => ({
        id,
        ticker: catalog.byVault(vault)?.ticker ?? null,
        type: via,
        buys,
        sold: sells,
        spentUsd: toNumber(spent, 6),
        receivedUsd: toNumber(received, 6),
      })),
    };
  },
});
