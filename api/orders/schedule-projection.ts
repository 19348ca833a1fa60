/** Feeds the schedules from their escrow's events (IScheduleEscrow). */
import type { Transaction } from 'kysely';
import { getAddress } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { scheduleEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { eventSet } from '../../runtime/chain/event-set.ts';
import { insertRows } from '../indexer/insert-rows.ts';
import { selectorOf } from '../indexer/log-words.ts';
import type { IndexedLog, Projection } from '../indexer/projection.ts';
import { moveToNextSlot } from '../jobs/due-slots.ts';
import type { ScheduleTables } from './schedule-tables.ts';

const TOPICS = ['ScheduleCreated', 'SlotFilled', 'OrderCancelled', 'OrderExpired'].map((name) =>
  selectorOf(scheduleEscrowAbi, name),
);

const scheduleEvents = eventSet(scheduleEscrowAbi);

/** IScheduleEscrow.Kind, in its order. */
const KINDS = ['subscribe', 'twap'] as const;

type Db = Transaction<ScheduleTables>;

export function scheduleProjection<DB extends ScheduleTables>(
  deployment: Deployment,
): Projection<DB> {
  return {
    name: 'schedules',
    addresses: [deployment.scheduleEscrow],
    topics: TOPICS,
    prepare: (logs) => ({
      write: async (transaction) => {
        for (const log of logs) await applyOne(transaction as unknown as Db, log);
      },
    }),
    rollback: async (transaction, block) => {
      const trx = transaction as unknown as Db;
      await trx.deleteFrom('schedule_index').where('opened_block', '>', block).execute();
      await trx.deleteFrom('schedule_slot').where('block', '>', block).execute();
      await trx
        .updateTable('schedule_index')
        .set({ closed_block: null, closed_as: null })
        .where('closed_block', '>', block)
        .execute();
      await moveToNextSlot(trx);
    },
  };
}

async function applyOne(trx: Db, log: IndexedLog): Promise<void> {
  const escrow = getAddress(log.address);
  const { eventName, args } = scheduleEvents.decode(log);
  if (eventName === 'ScheduleCreated') {
    const { terms } = args;
    await insertRows(trx, 'schedule_index', [
      {
        id: args.id,
        escrow,
        owner: args.owner,
        vault: args.vault,
        kind: KINDS[terms.kind] ?? 'subscribe',
        total: terms.total.toString(),
        slots: terms.slots,
        interval: terms.interval,
        start_at: terms.startAt,
        next_at: terms.startAt,
        slippage_bps: terms.slippageBps,
        cap_bps: terms.capBps,
        opened_block: log.block,
        opened_log: log.logIndex,
        closed_block: null,
        closed_as: null,
      },
    ]);
    await moveToNextSlot(trx, args.id);
  } else if (eventName === 'SlotFilled') {
    await insertRows(trx, 'schedule_slot', [
      {
        block: log.block,
        log_index: log.logIndex,
        id: args.id,
        slot: args.slot,
        budget: args.budget.toString(),
        remaining: args.remaining.toString(),
        returned: args.returned.toString(),
      },
    ]);
    // The last slot is the end, whichever others were filled.
    await trx
      .updateTable('schedule_index')
      .set({ closed_block: log.block, closed_as: 'filled' })
      .where('escrow', '=', escrow)
      .where('id', '=', args.id)
      .where('slots', '=', args.slot + 1)
      .execute();
    await moveToNextSlot(trx, args.id);
  } else if (eventName === 'OrderCancelled' || eventName === 'OrderExpired') {
    await trx
      .updateTable('schedule_index')
      .set({
        closed_block: log.block,
        closed_as: eventName === 'OrderCancelled' ? 'cancelled' : 'expired',
      })
      .where('escrow', '=', escrow)
      .where('id', '=', args.id)
      .execute();
  }
}
