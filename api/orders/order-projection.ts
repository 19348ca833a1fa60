/** Feeds the order index from the escrows' events (IOrderEscrow, IExitEscrow, ILimitEscrow). */
import type { Transaction } from 'kysely';
import { type Address, getAddress, toEventSelector } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { exitEscrowAbi, limitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { eventSet } from '../../runtime/chain/event-set.ts';
import type { IndexedLog, Projection } from '../indexer/projection.ts';
import type { OrderRow, OrderTables } from './order-tables.ts';

const CLOSED = {
  OrderFilled: 'filled',
  OrderCancelled: 'cancelled',
  OrderExpired: 'expired',
} as const;

/** Ids in one statement. */
const IDS_A_STATEMENT = 200;

const EVENTS = [...exitEscrowAbi, ...limitEscrowAbi].filter(
  (item) =>
    item.type === 'event' &&
    (item.name === 'ExitCreated' || item.name === 'LimitCreated' || item.name in CLOSED),
);

const exitEvents = eventSet(exitEscrowAbi);
const limitEvents = eventSet(limitEscrowAbi);

type Closed = { escrow: Address; block: number; as: NonNullable<OrderRow['closed_as']> };

type Change = { tag: 'opened'; row: OrderRow } | ({ tag: 'closed'; ids: string[] } & Closed);

/** Null for an event that the index does not keep. */
function changeOf(log: IndexedLog, deployment: Deployment): Change | null {
  const escrow = getAddress(log.address);
  const common = { escrow, opened_block: log.block, opened_log: log.logIndex };
  const stillOpen = { closed_block: null, closed_as: null };
  if (escrow === deployment.exitEscrow) {
    const { eventName, args } = exitEvents.decode(log);
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
    return closedBy(eventName, args, common);
  }
  const { eventName, args } = limitEvents.decode(log);
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
  return closedBy(eventName, args, common);
}

function closedBy(
  eventName: string,
  { id }: { id: string },
  { escrow, opened_block: block }: Pick<OrderRow, 'opened_block'> & { escrow: Address },
): Change | null {
  return eventName === 'OrderFilled' ||
    eventName === 'OrderCancelled' ||
    eventName === 'OrderExpired'
    ? { tag: 'closed', ids: [id], escrow, block, as: CLOSED[eventName] }
    : null;
}

/** In their order; those that close orders in one way, in one block, as one: a keeper fills a hundred in a moment. */
function alike(changes: readonly Change[]): Change[] {
  const found: Change[] = [];
  for (const change of changes) {
    const last = found.at(-1);
    const isAlike =
      change.tag === 'closed' &&
      last?.tag === 'closed' &&
      last.escrow === change.escrow &&
      last.block === change.block &&
      last.as === change.as &&
      last.ids.length < IDS_A_STATEMENT;
    if (isAlike) last.ids.push(...change.ids);
    else found.push(change.tag === 'closed' ? { ...change, ids: [...change.ids] } : change);
  }
  return found;
}

async function apply(trx: Transaction<OrderTables>, change: Change): Promise<void> {
  if (change.tag === 'opened') {
    await trx
      .insertInto('order_index')
      .values(change.row)
      .onConflict((conflict) => conflict.columns(['escrow', 'id']).doNothing())
      .execute();
    return;
  }
  await trx
    .updateTable('order_index')
    .set({ closed_block: change.block, closed_as: change.as })
    .where('escrow', '=', change.escrow)
    .where('id', 'in', change.ids)
    .execute();
}

export function orderProjection<DB extends OrderTables>(deployment: Deployment): Projection<DB> {
  return {
    name: 'orders',
    addresses: [deployment.exitEscrow, deployment.limitEscrow],
    topics: [...new Set(EVENTS.map((item) => toEventSelector(item as never)))],
    prepare: (logs) => {
      const changes = logs.flatMap((log) => changeOf(log, deployment) ?? []);
      return {
        write: async (transaction) => {
          const trx = transaction as unknown as Transaction<OrderTables>;
          for (const change of alike(changes)) await apply(trx, change);
        },
      };
    },
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
