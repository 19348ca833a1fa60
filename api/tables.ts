/** The api's rows: all derived from the chain. */
import { leadMigration } from '../runtime/store/lead.ts';
import type { Migrations } from '../runtime/store/store.ts';
import {
  type AccountingTables,
  accountingMigrations,
  ownerRowMigrations,
} from './accounting/tables.ts';
import { type CoverTables, coverCreditMigrations, coverMigrations } from './cover/cover-tables.ts';
import { type CheckpointTables, checkpointMigrations } from './indexer/checkpoints.ts';
import { type EpochTables, epochMigrations } from './indexer/epoch.ts';
import { type VaultTables, vaultMigrations } from './indexer/vault-set.ts';
import { keyedRowMigrations } from './indexer/keyed-rows.ts';
import { dueIndexMigrations } from './jobs/due-index.ts';
import { dueSlotMigrations } from './jobs/due-slots.ts';
import { type NavTables, navMigrations } from './nav/nav-tables.ts';
import { type OrderTables, orderMigrations } from './orders/order-tables.ts';
import { type ScheduleTables, scheduleMigrations } from './orders/schedule-tables.ts';

export type ApiTables = NavTables &
  CheckpointTables &
  EpochTables &
  OrderTables &
  VaultTables &
  AccountingTables &
  ScheduleTables &
  CoverTables;

export const apiMigrations: Migrations = {
  ...navMigrations,
  ...checkpointMigrations,
  ...orderMigrations,
  ...vaultMigrations,
  ...accountingMigrations,
  ...scheduleMigrations,
  ...coverMigrations,
  ...dueIndexMigrations,
  ...dueSlotMigrations,
  'api-009-lead': leadMigration,
  ...epochMigrations,
  ...ownerRowMigrations,
  ...coverCreditMigrations,
  ...keyedRowMigrations,
};
