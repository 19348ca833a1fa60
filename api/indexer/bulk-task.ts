/** What a worker of bulk-logs.ts does with a large answer. */
import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { Hex } from 'viem';
import { parseLogs } from '../../runtime/chain/held-logs.ts';
import {
  type IndexedLog,
  indexedLogs,
  standing,
  timesTold,
} from '../../runtime/chain/read-logs.ts';
import { takenApart } from '../accounting/accounting-projection.ts';
import type { BulkAnswer, BulkMade, BulkOrder } from './bulk-logs.ts';
import type { Wanted } from './routing.ts';
import { appendedIn } from './vault-set.ts';

/** Never throws: what cannot be taken apart here goes back as it came, and is found out about there. */
export function takeApart(order: BulkOrder): unknown {
  try {
    const made = madeOf(order);
    if (made !== null) {
      const memory = made.rows.transfers.tables.map(({ bytes }) => bytes.buffer);
      return handed({ made }, memory);
    }
  } catch {
    // expected: the process itself meets the same fault in its turn
  }
  return handed({ bytes: order.bytes }, [order.bytes.buffer]);
}

/** A result whose memory moves to the other thread. */
const handed = (value: BulkAnswer, memory: readonly unknown[]): unknown =>
  move({ [valueSymbol]: value, [transferableSymbol]: memory });

/** Null where more has to be read for it: the time of a block, or the history of a basket that was appended. */
function madeOf({ bytes, range, wanted, registry, protocol, isFile }: BulkOrder): BulkMade | null {
  const told = parseLogs(bytes, range);
  if (told === null) return null;
  const found = standing(told);
  const { times, untold } = timesTold(found);
  if (untold.length > 0) return null;
  const all = indexedLogs(found, times);
  const sorted = sort(all, wanted);
  const known = new Set(wanted.map(({ emitter }) => emitter));
  if (appendedIn(sorted.left, registry).some(({ vault }) => !known.has(vault))) return null;
  const { transfers, trades } = takenApart(sorted.own, protocol);
  const isTable = isFile && transfers.tables.length > 0;
  return {
    logs: sorted.left,
    count: all.length,
    blocks: blocksOf(all),
    rows: {
      transfers: isTable ? { ...transfers, rows: null } : { ...transfers, tables: [] },
      trades,
    },
  };
}

/** The projection's own logs, and those that others want or nobody knows. */
function sort(
  logs: readonly IndexedLog[],
  wanted: readonly Wanted[],
): { own: IndexedLog[]; left: IndexedLog[] } {
  const kinds = new Map(wanted.map((kind) => [`${kind.emitter} ${kind.topic}`, kind]));
  const own: IndexedLog[] = [];
  const left: IndexedLog[] = [];
  let last: IndexedLog | undefined;
  let kind: Wanted | undefined;
  for (const log of logs) {
    // Most logs are as the one before them: to look them up costs more than to compare them.
    if (last?.topics[0] !== log.topics[0] || last?.address !== log.address) {
      kind = kinds.get(`${log.address} ${log.topics[0]}`);
    }
    last = log;
    if (kind !== undefined) own.push(log);
    if (kind?.isAlone !== true) left.push(log);
  }
  return { own, left };
}

function blocksOf(logs: readonly IndexedLog[]): { block: number; blockHash: Hex }[] {
  const blocks = new Map<string, { block: number; blockHash: Hex }>();
  let last: IndexedLog | undefined;
  for (const log of logs) {
    const isAsBefore = last?.block === log.block && last.blockHash === log.blockHash;
    last = log;
    const { block, blockHash } = log;
    if (!isAsBefore) blocks.set(`${block} ${blockHash}`, { block, blockHash });
  }
  return [...blocks.values()];
}
