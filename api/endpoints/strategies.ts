import { toNumber } from '../../contracts-abi/rounding.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { addressPath } from '../schemas/reads.ts';
import { strategiesBody } from '../schemas/responses/strategies.ts';
import { requireIndex } from '../service.ts';

const NOTHING_YET = { via: 'schedule', buys: 0, sells: 0, spent: 0n, received: 0n } as const;

/**
 * One row for each exit and limit buy of the owner that has executed, and for each schedule from its creation: no other
 * read names a schedule that was never filled, and its owner may want to cancel it. In the order of their first
 * execution, then of creation. Open or over makes no difference.
 */
export const strategies = defineEndpoint({
  method: 'get',
  path: '/v1/strategies/{address}',
  id: 'strategies',
  tag: 'Reads',
  summary: 'What the orders and schedules of an owner have executed so far.',
  description:
    'One row for each exit and limit buy that has executed, and for each schedule from its creation on, open or over; /v1/tx/cancel takes its id. buys and sold count executions; spentUsd is what the buys cost, fees included, and receivedUsd what the sales paid out, fees deducted. What an escrow gave back unspent is not counted.',
  params: addressPath,
  response: strategiesBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  answer: async ({ service }, { params }) => {
    requireIndex(service);
    const { indexer, ledger, marks, orders } = service;
    const asOfBlock = indexer.height;
    const catalog = marks.catalog();
    const [executed, schedules] = await Promise.all([
      ledger.executionsOf(params.address),
      orders.schedulesOf(params.address),
    ]);
    const known = new Set(executed.map(({ id }) => id));
    const waiting = schedules
      .filter(({ id }) => !known.has(id))
      .map((schedule) => ({ ...schedule, ...NOTHING_YET }));
    return {
      address: params.address,
      strategies: [...executed, ...waiting].map(
        ({ id, vault, via, buys, sells, spent, received }) => ({
          id,
          ticker: catalog.byVault(vault)?.ticker ?? null,
          type: via,
          buys,
          sold: sells,
          spentUsd: toNumber(spent, 6),
          receivedUsd: toNumber(received, 6),
        }),
      ),
      asOfBlock,
    };
  },
});
