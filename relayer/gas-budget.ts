/**
 * What the relayer may spend on gas in a UTC day. Spending is written per intent, so that a restart forgets nothing
 * and a repeated report of the same receipt counts once.
 */
import type { Kysely } from 'kysely';
import type { IntentState } from '../runtime/sender/types.ts';
import { write as writeRows } from '../runtime/store/writes.ts';
import type { RelayTables } from './migrations.ts';

export type GasBudget = {
  /** Reads today's spending: at boot, and now and then where several processes share the rows. */
  load(): Promise<void>;
  /** Records what a settled intent cost; in other states it has cost nothing that is known. */
  record(intentKey: string, state: IntentState): Promise<void>;
  exhausted(): boolean;
  spentWei: () => bigint;
  /** Until the budget is whole again. */
  secondsToReset(): number;
};

const DAY_MS = 86_400_000;

export function createGasBudget(
  db: Kysely<RelayTables>,
  budgetWei: bigint,
  now: () => number = Date.now,
): GasBudget {
  const today = (): number => Math.floor(now() / DAY_MS);
  let day = today();
  let spent = 0n;
  // One record at a time: each reads the row that it replaces.
  let tail: Promise<void> = Promise.resolve();

  const add = (wei: bigint): void => {
    if (day !== today()) {
      day = today();
      spent = 0n;
    }
    spent += wei;
  };
  const write = async (intentKey: string, wei: bigint): Promise<void> => {
    const before = await db
      .selectFrom('relay_gas')
      .select(['wei', 'day'])
      .where('intent_key', '=', intentKey)
      .executeTakeFirst();
    if (before !== undefined && BigInt(before.wei) === wei) return;
    const row = { day: today(), wei: wei.toString() };
    await writeRows(db, (rows) =>
      rows
        .insertInto('relay_gas')
        .values({ intent_key: intentKey, ...row })
        .onConflict((conflict) => conflict.column('intent_key').doUpdateSet(row))
        .execute(),
    );
    // After a reorg the same intent may have cost otherwise: only the difference is new.
    add(before !== undefined && before.day === today() ? wei - BigInt(before.wei) : wei);
  };

  return {
    load: async () => {
      const current = today();
      const rows = await db
        .selectFrom('relay_gas')
        .select('wei')
        .where('day', '=', current)
        .execute();
      day = current;
      spent = rows.reduce((sum, row) => sum + BigInt(row.wei), 0n);
    },
    record: async (intentKey, state) => {
      if (state.tag !== 'mined' && state.tag !== 'reverted') return;
      const wei = state.gasUsed * state.effectiveGasPrice;
      const mine = tail.then(() => write(intentKey, wei));
      tail = mine.catch(() => undefined); // a failed row is the caller's to report, not the next one's
      await mine;
    },
    exhausted: () => day === today() && spent >= budgetWei,
    spentWei: () => (day === today() ? spent : 0n),
    secondsToReset: () => Math.ceil(((today() + 1) * DAY_MS - now()) / 1_000),
  };
}
