/** Feeds the order index from the escrows' events (IOrderEscrow, IExitEscrow, ILimitEscrow). */
import type { Transaction } from 'kysely';
import { decodeEventLog, getAddress, toEventSelector } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { exitEscrowAbi, limitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import type { IndexedLog, Projection } from '../indexer/projection.ts';
import type { OrderRow, OrderTables } from './order-tables.ts';

const CLOSED = {
  OrderFilled: 'filled',
  OrderCancelled: 'cancelled',
  OrderExpired: 'expired',
} as const;

const EVENTS = [...exitEscrowAbi, ...limitEscrowAbi].filter(
  (item) =>
    item.type === 'event' &&
    (item.name === 'ExitCreated' || item.name === 'LimitCreated' || item.name in CLOSED),
);

type Change =
  | { tag: 'opened'; row: OrderRow }
  | { tag: 'closed'; id: string; as: NonNullable<OrderRow['closed_as']> };

/** Null for an event that the index does not keep. */
function changeOf(log: IndexedLog, deployment: Deployment): Change | null {
  const topics = [...log.topics] as [`0x${string}`, ...`0x${string}`[]];
  const escrow = getAddress(log.address);
  const common = { escrow, opened_block: log.block, opened_log: log.logIndex };
  const stillOpen = { closed_block: null, closed_as: null };
  if (escrow === deployment.exitEscrow) {
    const { eventName, args } = decodeEventLog({ abi: exitEscrowAbi, topics, data: log.data });
    if (eventName === 'ExitCreated') {
      const { terms } = args;
      return {
        tag: 'opened',
        row: {
          ...common,
          ...stillOpen,
          id: args.id,
          kind: 'exit',
          owner: args.owner,
          vault: args.vault,
          amount: terms.shares.toString(),
          stop_nav: terms.stopNav.toString(),
          tp_nav: terms.tpNav.toString(),
          trigger_nav: '0',
          deadline: terms.deadline,
        },
      };
    }
    return closedBy(eventName, args);
  }
  const { eventName, args } = decodeEventLog({ abi: limitEscrowAbi, topics, data: log.data });
  if (eventName === 'LimitCreated') {
    const { terms } = args;
    return {
      tag: 'opened',
      row: {
        ...common,
        ...stillOpen,
        id: args.id,
        kind: 'limit',
        owner: args.owner,
        vault: args.vault,
        amount: terms.amount.toString(),
        stop_nav: '0',
        tp_nav: '0',
        trigger_nav: terms.triggerNav.toString(),
        deadline: terms.deadline,
      },
    };
  }
  return closedBy(eventName, args);
}

function closedBy(eventName: string, args: { id: string }): Change | null {
  return eventName === 'OrderFilled' ||
    eventName === 'OrderCancelled' ||
    eventName === 'OrderExpired'
    ? { tag: 'closed', id: args.id, as: CLOSED[eventName] }
    : null;
}

export function orderProjection<DB extends OrderTables>(deployment: Deployment): Projection<DB> {
  return {
    name: 'orders',
    addresses: [deployment.exitEscrow, deployment.limitEscrow],
    topics: [...new Set(EVENTS.map((item) => toEventSelector(item as never)))],
    prepare: (logs) => ({
      write: async (transaction) => {
        const trx = transaction as unknown as Transaction<OrderTables>;
        for (const log of logs) {
          const change = changeOf(log, deployment);
          if (change === null) continue;
          if (change.tag === 'opened') {
            await trx
              .insertInto('order_index')
              .values(change.row)
              .onConflict((conflict) => conflict.columns(['escrow', 'id']).doNothing())
              .execute();
          } else {
            await trx
              .updateTable('order_index')
              .set({ closed_block: log.block, closed_as: change.as })
              .where('escrow', '=', getAddress(log.address))
              .where('id', '=', change.id)
              .execute();
          }
        }
      },
    }),
    rollback: async (transaction, block) => {
      const trx = transaction as unknown as Transaction<OrderTables>;
      await trx.deleteFrom('order_index').where('opened_block', '>', block).execute();
      await trx
        .updateTable('order_index')
        .set({ closed_block: null, closed_as: null })
        .where('closed_block', '>', block)
        .execute();
    },
  };
}
