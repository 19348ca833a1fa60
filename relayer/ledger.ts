/**
 * The relayer's books: for each settled intent what its gas cost and which fee it brought, by key, account and day;
 * and, following from them, the keys that are kept out for what they cost.
 *
 * Rows are written per intent, so that a restart forgets nothing and a repeated report counts once. A receipt that a
 * reorg took back leaves the books until there is one again.
 */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import type { IntentState } from '../runtime/sender/types.ts';
import { write } from '../runtime/store/writes.ts';
import type { RelayTables } from './migrations.ts';
import {
  countedSince,
  isQuarantined,
  judgeLosses,
  type Quarantine,
  type QuarantinePolicy,
  type Settled,
} from './quarantine.ts';
import { gasInUsdg } from './quote.ts';
import { intentKey, type Slot } from './slots.ts';

export type Ledger = {
  /**
   * Books what an attempt of a slot came to; states without a receipt of it unbook it. Returns the quarantine that
   * begins with it, or null.
   * @param ethPrice dollars x 1e18 per ETH, now; what is booked once keeps its price.
   */
  record(attempt: BookedAttempt, state: IntentState, ethPrice: bigint): Promise<Quarantine | null>;
  /** The quarantine of a key that stands now, or null. */
  quarantineOf(key: Address): Promise<Quarantine | null>;
};

type BookedAttempt = Pick<Slot, 'id' | 'digest' | 'attempt'> & {
  action: { key: Address; fee: bigint };
};

const DAY_MS = 86_400_000;
/** Of one key within one window: enough to judge it by, whatever it does. */
const MOST_JUDGED = 5_000;

export function createLedger(
  db: Kysely<RelayTables>,
  policy: QuarantinePolicy,
  now: () => number = Date.now,
): Ledger {
  const standingOf = async (key: Address): Promise<Quarantine | null> => {
    const row = await db
      .selectFrom('relay_quarantine')
      .selectAll()
      .where('key', '=', key)
      .executeTakeFirst();
    if (row === undefined) return null;
    const { strikes, started_at: startedAt, until, lost_usdg: lost } = row;
    return { strikes, startedAt, until, lost: BigInt(lost) };
  };

  const settledSince = async (key: Address, since: number): Promise<Settled[]> => {
    const rows = await db
      .selectFrom('relay_ledger')
      .select(['outcome', 'gas_usdg', 'fee_usdg'])
      .where('key', '=', key)
      .where('settled_at', '>=', since)
      .orderBy('settled_at', 'desc')
      .limit(MOST_JUDGED)
      .execute();
    return rows.map((row) => ({
      outcome: row.outcome,
      gas: BigInt(row.gas_usdg),
      fee: BigInt(row.fee_usdg),
    }));
  };

  const judge = async (key: Address): Promise<Quarantine | null> => {
    const at = now();
    const standing = await standingOf(key);
    const settled = await settledSince(key, countedSince(standing, at, policy));
    const begun = judgeLosses(settled, standing, at, policy);
    if (begun === null) return null;
    const row = {
      strikes: begun.strikes,
      started_at: begun.startedAt,
      until: begun.until,
      lost_usdg: Number(begun.lost),
    };
    await write(db, (rows) =>
      rows
        .insertInto('relay_quarantine')
        .values({ key, ...row })
        .onConflict((conflict) => conflict.column('key').doUpdateSet(row))
        .execute(),
    );
    return begun;
  };

  return {
    record: async ({ id, digest, attempt, action }, state, ethPrice) => {
      const key = intentKey(digest, attempt);
      if (state.tag !== 'mined' && state.tag !== 'reverted') {
        await write(db, (rows) =>
          rows.deleteFrom('relay_ledger').where('intent_key', '=', key).execute(),
        );
        return null;
      }
      const before = await db
        .selectFrom('relay_ledger')
        .select(['eth_price', 'hash', 'outcome', 'gas_wei'])
        .where('intent_key', '=', key)
        .executeTakeFirst();
      const wei = state.gasUsed * state.effectiveGasPrice;
      const price = before === undefined ? ethPrice : BigInt(before.eth_price);
      if (
        before?.hash === state.hash &&
        before.outcome === state.tag &&
        before.gas_wei === wei.toString()
      ) {
        return null;
      }
      const row = {
        day: Math.floor(now() / DAY_MS),
        settled_at: now(),
        outcome: state.tag,
        hash: state.hash,
        gas_wei: wei.toString(),
        gas_usdg: Number(gasInUsdg(wei, price)),
        fee_usdg: state.tag === 'mined' ? Number(action.fee) : 0,
        eth_price: price.toString(),
      };
      await write(db, (rows) =>
        rows
          .insertInto('relay_ledger')
          .values({
            intent_key: key,
            digest,
            module: id.module,
            account: id.account,
            key: action.key,
            ...row,
          })
          .onConflict((conflict) => conflict.column('intent_key').doUpdateSet(row))
          .execute(),
      );
      return state.tag === 'reverted' ? await judge(action.key) : null;
    },
    quarantineOf: async (key) => {
      const standing = await standingOf(key);
      return isQuarantined(standing, now()) ? standing : null;
    },
  };
}
