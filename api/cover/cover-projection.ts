/** Feeds the rows of the cover market from its events. */
import type { Transaction } from 'kysely';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { eventSet } from '../../runtime/chain/event-set.ts';
import { insertRows } from '../indexer/insert-rows.ts';
import { selectorOf } from '../indexer/log-words.ts';
import type { IndexedLog, Projection } from '../indexer/projection.ts';
import { COVER_TABLES, type CoverTables } from './cover-tables.ts';

const TOPICS = [
  'Listed',
  'ListingCancelled',
  'ListingSentBack',
  'ListingRolled',
  'RepeatStopped',
  'CoverSold',
  'SnapshotTaken',
  'WeekSettled',
  'WeekVoided',
  'PaidOut',
  'Credited',
  'Claimed',
].map((name) => selectorOf(coverMarketAbi, name));

const coverEvents = eventSet(coverMarketAbi);

/** ICoverMarket.Side, in its order; none is never listed. */
const SIDES = [null, 'offer', 'request'] as const;

const ENDS = {
  ListingCancelled: 'cancelled',
  ListingSentBack: 'sent_back',
} as const;

const OUTCOMES = { SnapshotTaken: 'closed', WeekSettled: 'settled' } as const;

type Rows = { [T in keyof CoverTables]: CoverTables[T][] };

export function coverProjection<DB extends CoverTables>(deployment: Deployment): Projection<DB> {
  return {
    name: 'cover',
    addresses: [deployment.coverMarket],
    topics: TOPICS,
    prepare: (logs) => {
      const rows: Rows = {
        cover_listing: [],
        cover_listing_end: [],
        cover_sale: [],
        cover_outcome: [],
        cover_payout: [],
        cover_credit: [],
      };
      for (const log of logs) readLog(log, rows);
      return {
        write: async (transaction) => {
          const trx = transaction as unknown as Transaction<CoverTables>;
          for (const table of COVER_TABLES) await insertRows(trx, table, rows[table]);
        },
      };
    },
    rollback: async (transaction, block) => {
      const trx = transaction as unknown as Transaction<CoverTables>;
      for (const table of COVER_TABLES) {
        await trx.deleteFrom(table).where('block', '>', block).execute();
      }
    },
  };
}

function readLog(log: IndexedLog, rows: Rows): void {
  const event = coverEvents.decode(log);
  const of = { block: log.block, log_index: log.logIndex, time: log.time };
  if (event.eventName === 'Listed') {
    const { id, owner, side, repeats, terms } = event.args;
    const listed = SIDES[side];
    if (listed === undefined || listed === null) return;
    rows.cover_listing.push({
      ...of,
      id: id.toString(),
      owner: owner.toLowerCase(),
      side: listed,
      repeats: repeats ? 1 : 0,
      week: terms.week,
      vault: terms.vault.toLowerCase(),
      from_bps: terms.fromBps,
      to_bps: terms.toBps,
      cover_usd: Number(terms.coverUsd),
      price_per_1k: terms.pricePer1k.toString(),
    });
  } else if (event.eventName === 'ListingCancelled' || event.eventName === 'ListingSentBack') {
    const { id, returned } = event.args;
    const what = ENDS[event.eventName];
    const end = { id: id.toString(), what, returned: returned.toString(), next_id: null };
    rows.cover_listing_end.push({ ...of, ...end });
  } else if (event.eventName === 'ListingRolled') {
    const { id, next } = event.args;
    const end = { id: id.toString(), returned: null, next_id: next.toString() };
    rows.cover_listing_end.push({ ...of, ...end, what: 'rolled' });
  } else if (event.eventName === 'RepeatStopped') {
    const end = { id: event.args.id.toString(), returned: null, next_id: null };
    rows.cover_listing_end.push({ ...of, ...end, what: 'stopped_repeating' });
  } else if (event.eventName === 'CoverSold') {
    const { positionId, listingId, buyer, underwriter, coverUsd, premium, fee } = event.args;
    rows.cover_sale.push({
      ...of,
      position_id: positionId.toString(),
      listing_id: listingId.toString(),
      buyer: buyer.toLowerCase(),
      underwriter: underwriter.toLowerCase(),
      cover_usd: Number(coverUsd),
      premium: premium.toString(),
      fee: fee.toString(),
    });
  } else if (event.eventName === 'SnapshotTaken' || event.eventName === 'WeekSettled') {
    const { week, vault, nav, endsAt, executor, reward } = event.args;
    const at = { nav: nav.toString(), ends_at: Number(endsAt) };
    const paid = { executor: executor.toLowerCase(), reward: reward.toString() };
    const what = OUTCOMES[event.eventName];
    rows.cover_outcome.push({ ...of, what, week, vault: vault.toLowerCase(), ...at, ...paid });
  } else if (event.eventName === 'WeekVoided') {
    const { week, vault, executor, reward } = event.args;
    const at = { nav: null, ends_at: null };
    const paid = { executor: executor.toLowerCase(), reward: reward.toString() };
    rows.cover_outcome.push({
      ...of,
      what: 'void',
      week,
      vault: vault.toLowerCase(),
      ...at,
      ...paid,
    });
  } else if (event.eventName === 'PaidOut') {
    const { positionId, buyer, underwriter, toBuyer, toUnderwriter, fee } = event.args;
    rows.cover_payout.push({
      ...of,
      position_id: positionId.toString(),
      buyer: buyer.toLowerCase(),
      underwriter: underwriter.toLowerCase(),
      to_buyer: toBuyer.toString(),
      to_underwriter: toUnderwriter.toString(),
      fee: fee.toString(),
    });
  } else if (event.eventName === 'Credited' || event.eventName === 'Claimed') {
    const { creditor, amount } = event.args;
    rows.cover_credit.push({
      ...of,
      account: creditor.toLowerCase(),
      what: event.eventName === 'Credited' ? 'credited' : 'claimed',
      amount: amount.toString(),
    });
  }
}
