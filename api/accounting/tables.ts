/**
 * Who moved which shares and what was paid for them, as the chain's events tell it. Rows are only ever added, each by
 * its log, so undoing a block deletes them. Addresses are in lower case, amounts decimal text in base units (shares
 * 1e18, USDG 1e6), times the block's in unix seconds.
 */
import type { Migrations } from '../../runtime/store/store.ts';

export type ShareTransferRow = {
  block: number;
  log_index: number;
  time: number;
  vault: string;
  /** Zero address: minted, or burnt where it receives. */
  sender: string;
  receiver: string;
  shares: string;
  /**
   * `trade`: part of a buy or a sale through the zapper, which has a row of its own in `trade`. `escrow`: into or out
   * of an exit order. `move`: anything else, so that shares changed hands without a price.
   */
  kind: 'move' | 'trade' | 'escrow';
};

export type TradeRow = {
  block: number;
  log_index: number;
  time: number;
  tx_hash: string;
  /** `redeem`: in kind, for constituents instead of USDG. */
  kind: 'buy' | 'sell' | 'redeem';
  via: 'wallet' | 'session' | 'limit' | 'exit' | 'schedule';
  vault: string;
  /** Who received the shares of a buy, or whose shares were sold or redeemed. */
  owner: string;
  shares: string;
  /** USDG that the swaps spent or yielded, before any fee. Zero for a redemption. */
  gross: string;
  /** Of the protocol. */
  protocol_fee: string;
  /** Of whoever filled an order. */
  executor_fee: string;
  /** Of the relayer, for a session's trade. */
  network_fee: string;
  /** Of the order or schedule that traded. */
  order_id: string | null;
};

/** Sums of `gross` per basket and UTC day (its number since the epoch), buys and sells; days without trades have no row. */
export type VolumeRow = { vault: string; day: number; gross: string; trades: number };

export type AccountingTables = {
  share_transfer: ShareTransferRow;
  trade: TradeRow;
  volume_day: VolumeRow;
};

export const accountingMigrations: Migrations = {
  'api-004-accounting': {
    up: async (db) => {
      await db.schema
        .createTable('share_transfer')
        .addColumn('block', 'bigint', (column) => column.notNull())
        .addColumn('log_index', 'bigint', (column) => column.notNull())
        .addColumn('time', 'bigint', (column) => column.notNull())
        .addColumn('vault', 'text', (column) => column.notNull())
        .addColumn('sender', 'text', (column) => column.notNull())
        .addColumn('receiver', 'text', (column) => column.notNull())
        .addColumn('shares', 'text', (column) => column.notNull())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('share_transfer_key', ['block', 'log_index'])
        .execute();
      for (const side of ['sender', 'receiver']) {
        await db.schema
          .createIndex(`share_transfer_${side}`)
          .on('share_transfer')
          .columns([side])
          .execute();
      }
      await db.schema
        .createTable('trade')
        .addColumn('block', 'bigint', (column) => column.notNull())
        .addColumn('log_index', 'bigint', (column) => column.notNull())
        .addColumn('time', 'bigint', (column) => column.notNull())
        .addColumn('tx_hash', 'text', (column) => column.notNull())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('via', 'text', (column) => column.notNull())
        .addColumn('vault', 'text', (column) => column.notNull())
        .addColumn('owner', 'text', (column) => column.notNull())
        .addColumn('shares', 'text', (column) => column.notNull())
        .addColumn('gross', 'text', (column) => column.notNull())
        .addColumn('protocol_fee', 'text', (column) => column.notNull())
        .addColumn('executor_fee', 'text', (column) => column.notNull())
        .addColumn('network_fee', 'text', (column) => column.notNull())
        .addColumn('order_id', 'text')
        .addPrimaryKeyConstraint('trade_key', ['block', 'log_index'])
        .execute();
      await db.schema.createIndex('trade_owner').on('trade').columns(['owner']).execute();
      await db.schema.createIndex('trade_vault').on('trade').columns(['vault', 'block']).execute();
      await db.schema
        .createTable('volume_day')
        .addColumn('vault', 'text', (column) => column.notNull())
        .addColumn('day', 'bigint', (column) => column.notNull())
        .addColumn('gross', 'text', (column) => column.notNull())
        .addColumn('trades', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('volume_day_key', ['vault', 'day'])
        .execute();
    },
  },
};

/** An owner's rows in chain order, from any place on, without sorting all of them. */
const ORDERED = [
  { table: 'share_transfer', column: 'sender', before: 'share_transfer_sender' },
  { table: 'share_transfer', column: 'receiver', before: 'share_transfer_receiver' },
  { table: 'trade', column: 'owner', before: 'trade_owner' },
] as const;

export const ownerRowMigrations: Migrations = {
  'api-011-owner-rows': {
    up: async (db) => {
      for (const { table, column, before } of ORDERED) {
        await db.schema.dropIndex(before).execute();
        await db.schema
          .createIndex(`${before}_order`)
          .on(table)
          .columns([column, 'block', 'log_index'])
          .execute();
      }
    },
  },
};
