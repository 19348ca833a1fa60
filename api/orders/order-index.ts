/** Questions to the order index, and what the chain says of the same orders now. */
import type { Kysely } from 'kysely';
import type { Address, Hex, PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { optional, ReadBatch } from '../../runtime/chain/read-batch.ts';
import type { OrderRow, OrderTables } from './order-tables.ts';
import type { ScheduleTables } from './schedule-tables.ts';

/** An order in chain types. `amount`: shares of an exit, USDG of a limit. NAVs are dollars x 1e18, zero is none. */
export type Order = {
  id: Hex;
  escrow: Address;
  kind: 'exit' | 'limit';
  owner: Address;
  vault: Address;
  amount: bigint;
  stopNav: bigint;
  tpNav: bigint;
  triggerNav: bigint;
  deadline: number;
  /** What the index knows of its end. */
  closedAs: OrderRow['closed_as'];
};

/** IOrderEscrow.State, in its order. */
const ORDER_STATES = ['none', 'open', 'filled', 'cancelled', 'expired'] as const;
export type OrderState = (typeof ORDER_STATES)[number];

/** Bounds an answer and its aggregated read. */
const MAX_ORDERS_OF_OWNER = 500;

/** A row in chain types. */
export function fromRow(row: OrderRow): Order {
  return {
    id: row.id as Hex,
    escrow: row.escrow as Address,
    kind: row.kind,
    owner: row.owner as Address,
    vault: row.vault as Address,
    amount: BigInt(row.amount),
    stopNav: BigInt(row.stop_nav),
    tpNav: BigInt(row.tp_nav),
    triggerNav: BigInt(row.trigger_nav),
    deadline: row.deadline,
    closedAs: row.closed_as,
  };
}

export class OrderIndex {
  readonly #db: Kysely<OrderTables & ScheduleTables>;

  constructor(db: Kysely<OrderTables & ScheduleTables>) {
    this.#db = db;
  }

  /** Open orders of one owner, oldest first. */
  async openOf(owner: Address): Promise<Order[]> {
    const rows = await this.#db
      .selectFrom('order_index')
      .selectAll()
      .where('owner', '=', owner)
      .where('closed_block', 'is', null)
      .orderBy('opened_block')
      .orderBy('opened_log')
      .limit(MAX_ORDERS_OF_OWNER)
      .execute();
    return rows.map(fromRow);
  }

  /** All schedules that the owner ever created, open or over, in the order of their creation. */
  async schedulesOf(owner: Address): Promise<{ id: Hex; vault: Address }[]> {
    const rows = await this.#db
      .selectFrom('schedule_index')
      .select(['id', 'vault'])
      .where('owner', '=', owner)
      .orderBy('opened_block')
      .orderBy('opened_log')
      .execute();
    return rows.map(({ id, vault }) => ({ id: id as Hex, vault: vault as Address }));
  }

  /** By id; ids bind their escrow, so there is at most one. */
  async find(id: Hex): Promise<Order | null> {
    const row = await this.#db
      .selectFrom('order_index')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
    return row === undefined ? null : fromRow(row);
  }
}

/** What an escrow says of an order now; `none` where it does not know it (yet). */
export function planState(batch: ReadBatch, escrow: Address, id: Hex): () => OrderState {
  const pending = batch.add({
    to: escrow,
    abi: exitEscrowAbi,
    functionName: 'stateOf',
    args: [id],
  });
  return () => ORDER_STATES[optional(pending) ?? 0] ?? 'none';
}

/**
 * Drops orders that the chain says are closed. One that the node answering does not know stays: the index has seen its
 * event, so the node lags. @throws ApiError UPSTREAM.
 */
export async function confirmOpen(
  client: PublicClient,
  deployment: Deployment,
  orders: readonly Order[],
): Promise<Order[]> {
  if (orders.length === 0) return [];
  const batch = new ReadBatch();
  const states = orders.map(({ escrow, id }) => planState(batch, escrow, id));
  await batch.send(client, deployment.multicall3);
  return orders.filter((_order, index) => {
    const state = states[index]?.() ?? 'none';
    return state === 'open' || state === 'none';
  });
}
