/** The api's rows: all derived from the chain but the NAV samples, which only it has. */
import type { Migrations } from '../runtime/store/store.ts';
import { type CheckpointTables, checkpointMigrations } from './indexer/checkpoints.ts';
import { dueIndexMigrations } from './jobs/due-index.ts';
import { type NavSampleTables, navSampleMigrations } from './marks/nav-samples.ts';
import { type OrderTables, orderMigrations } from './orders/order-tables.ts';

export type ApiTables = NavSampleTables & CheckpointTables & OrderTables;

export const apiMigrations: Migrations = {
  ...navSampleMigrations,
  ...checkpointMigrations,
  ...orderMigrations,
  ...dueIndexMigrations,
};
