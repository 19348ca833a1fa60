/** Everything that the api derives from logs. */
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { accountingProjection } from '../accounting/accounting-projection.ts';
import { coverProjection } from '../cover/cover-projection.ts';
import { orderProjection } from '../orders/order-projection.ts';
import { scheduleProjection } from '../orders/schedule-projection.ts';
import type { ApiTables } from '../tables.ts';
import type { Projection } from './projection.ts';

/** Raise it when a projection changes what it keeps: rows written by another version are read again from the chain. */
const VERSION = 4;

export function apiProjections(deployment: Deployment): Projection<ApiTables>[] {
  return [
    orderProjection(deployment),
    scheduleProjection(deployment),
    accountingProjection(deployment),
    coverProjection(deployment),
  ];
}

/** Names what the rows are read from: contracts, baskets of the deployment file, and how. */
export function indexIdentity(deployment: Deployment): string {
  const { exitEscrow, limitEscrow, scheduleEscrow, zapper, sessionModule, coverMarket } =
    deployment;
  const contracts = [exitEscrow, limitEscrow, scheduleEscrow, zapper, sessionModule, coverMarket];
  const vaults = deployment.baskets.map(({ vault }) => vault).toSorted();
  return [VERSION, deployment.startBlock, deployment.registry, ...contracts, ...vaults].join(':');
}
