/** The api's rows: all derived from the chain but the NAV samples, which only it has. */
import type { Migrations } from '../runtime/store/store.ts';
import { type AccountingTables, accountingMigrations } from './accounting/tables.ts';
import { type CoverTables, coverMigrations } from './cover/cover-tables.ts';
import { type CheckpointTables, checkpointMigrations } from './indexer/checkpoints.ts';
import { type VaultTables, vaultMigrations } from './indexer/vault-set.ts';
import { dueIndexMigrations } from './jobs/due-index.ts';
import { type NavSampleTables, navSampleMigrations } from './marks/nav-samples.ts';
import { type OrderTables, orderMigrations } from './orders/order-tables.ts';
import { type ScheduleTables, scheduleMigrations } from './orders/schedule-tables.ts';

export type ApiTables = NavSampleTables &
  CheckpointTables &
  OrderTables &
  VaultTables &
  AccountingTables &
  ScheduleTables &
  CoverTables;

export const apiMigrations: Migrations = {
  ...navSampleMigrations,
  ...checkpointMigrations,
  ...orderMigrations,
  ...vaultMigrations,
  ...accountingMigrations,
  ...scheduleMigrations,
  ...coverMigrations,
  ...dueIndexMigrations,
};
