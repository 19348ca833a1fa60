import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { type ApiTables, apiMigrations } from '../tables.ts';
import { dueSlots, dueSlotsQuery, endedSchedules, moveToNextSlot } from './due-slots.ts';
import { START } from './turns.ts';

const VAULT = `0x${'04'.repeat(20)}` as const;
const OTHER = `0x${'05'.repeat(20)}` as const;
const ID = `0x${'01'.repeat(32)}` as const;

let store: Store<ApiTables>;

beforeAll(async () => {
  store = await openStore<ApiTables>({ url: 'file::memory:', migrations: apiMigrations });
});
afterAll(() => store.close());

/** Three slots of 100 s from 1,000 on. */
beforeEach(async () => {
  await store.db.deleteFrom('schedule_slot').execute();
  await store.db.deleteFrom('schedule_index').execute();
  await store.db
    .insertInto('schedule_index')
    .values({
      id: ID,
      escrow: `0x${'02'.repeat(20)}`,
      owner: `0x${'03'.repeat(20)}`,
      vault: VAULT,
      kind: 'subscribe',
      total: '101',
      slots: 3,
      interval: 100,
      start_at: 1_000,
      next_at: 1_000,
      slippage_bps: 100,
      cap_bps: 500,
      opened_block: 7,
      opened_log: 1,
      closed_block: null,
      closed_as: null,
    })
    .execute();
});

async function fill(slot: number): Promise<void> {
  await store.db.transaction().execute(async (trx) => {
    const money = { budget: '0', remaining: '0', returned: '0' };
    await trx
      .insertInto('schedule_slot')
      .values({ block: 10 + slot, log_index: 0, id: ID, slot, ...money })
      .execute();
    await moveToNextSlot(trx, ID);
  });
}

async function slotAt(time: number): Promise<[number, bigint] | null> {
  const [due] = await dueSlots(store.db, [VAULT, OTHER], time, START, 10);
  return due === undefined ? null : [due.slot, due.amount];
}

describe('slots of schedules', () => {
  it('are due from their start on, until they are filled or the next one begins', async () => {
    expect(await slotAt(999)).toBe(null);
    expect(await slotAt(1_000)).toEqual([0, 33n]);
    await fill(0);
    expect(await slotAt(1_099)).toBe(null);
    expect(await slotAt(1_100)).toEqual([1, 33n]);
    expect(await slotAt(1_199)).toEqual([1, 33n]);
    // Nobody filled it: it is skipped. The last slot has the remainder of the division.
    expect(await slotAt(1_200)).toEqual([2, 35n]);
    await fill(2);
    expect(await slotAt(1_299)).toBe(null);
  });

  it('end with the last one: then it can only be sent back', async () => {
    expect(await slotAt(1_299)).toEqual([2, 35n]);
    expect(await endedSchedules(store.db, 1_299, 10)).toEqual([]);
    expect(await slotAt(1_300)).toBe(null);
    expect(await endedSchedules(store.db, 1_300, 10)).toEqual([ID]);
  });

  it('come back when the blocks of their fills are undone', async () => {
    await fill(0);
    await fill(1);
    expect(await slotAt(1_150)).toBe(null);
    await store.db.transaction().execute(async (trx) => {
      await trx.deleteFrom('schedule_slot').where('slot', '=', 1).execute();
      await moveToNextSlot(trx);
    });
    expect(await slotAt(1_150)).toEqual([1, 33n]);
    expect(await slotAt(1_050)).toBe(null);
  });

  it('are asked by basket and by place, and never of what is closed', async () => {
    expect(await dueSlots(store.db, [OTHER], 1_000, START, 10)).toEqual([]);
    expect(await dueSlots(store.db, [], 1_000, START, 10)).toEqual([]);
    expect(await dueSlots(store.db, [VAULT], 1_000, { block: 7, log: 0 }, 10)).toHaveLength(1);
    expect(await dueSlots(store.db, [VAULT], 1_000, { block: 7, log: 1 }, 10)).toEqual([]);
    await store.db.updateTable('schedule_index').set({ closed_block: 9 }).execute();
    expect(await slotAt(1_000)).toBe(null);
    expect(await endedSchedules(store.db, 2_000, 10)).toEqual([]);
  });

  it('are what the store reads: no query walks the open schedules', async () => {
    const query = dueSlotsQuery([VAULT], 1_000, START, 10).compile(store.db);
    const explained = { ...query, sql: `explain query plan ${query.sql}` };
    const { rows } = await store.db.executeQuery<{ detail: string }>(explained);
    expect(rows.map(({ detail }) => detail)).toContainEqual(
      expect.stringMatching(/USING INDEX schedule_index_next \(closed_block=\? AND next_at<\?\)/),
    );
  });
});
