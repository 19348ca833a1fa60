/** Whether what a node tells of logs is that: whole logs, of the blocks that were asked for. */
import { BaseError } from 'viem';
import { quantityOf } from './quantity.ts';

/** Of blocks, both ends included; `Infinity` where they were not named by number. */
export type BlockRange = { from: number; to: number };

/** The endpoint answers what no node may: another one is asked, and a shorter range would not help. */
export class MalformedLogs extends BaseError {
  constructor(what: string) {
    super(`The endpoint's answer to eth_getLogs is malformed: ${what}.`, { name: 'MalformedLogs' });
  }
}

/** Of the parameters of `eth_getLogs`. */
export function rangeOf(params: unknown): BlockRange {
  const [filter] = Array.isArray(params) ? params : [];
  const { fromBlock, toBlock } = (filter ?? {}) as { fromBlock?: unknown; toBlock?: unknown };
  return { from: quantityOf(fromBlock) ?? 0, to: quantityOf(toBlock) ?? Number.POSITIVE_INFINITY };
}

/** @throws MalformedLogs where this is none of the logs that `params` ask for */
export function checkLogs(logs: unknown, params: unknown): void {
  const fault = faultOfLogs(logs, rangeOf(params));
  if (fault !== null) throw new MalformedLogs(fault);
}

/** What is wrong with these logs; null: nothing. */
export function faultOfLogs(logs: unknown, { from, to }: BlockRange): string | null {
  if (!Array.isArray(logs)) return 'it is no list';
  // Nothing that a log may say.
  let last: unknown = Symbol('none');
  for (const log of logs as unknown[]) {
    if (typeof log !== 'object' || log === null) return 'a log is no object';
    const { blockNumber } = log as { blockNumber?: unknown };
    if (blockNumber !== last) {
      const block = quantityOf(blockNumber);
      if (block === null) return 'a log has no block number';
      if (block < from || block > to) return `a log of block ${block} was not asked for`;
      last = blockNumber;
    }
    const missing = missingOf(log as Record<string, unknown>);
    if (missing !== null) return `a log has no ${missing}`;
  }
  return null;
}

/** As every node writes them; topics are compared as text. */
const HASH = /^0x[0-9a-f]{64}$/;
const BYTES = /^0x(?:[0-9a-f]{2})*$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

function missingOf({
  address,
  data,
  blockHash,
  transactionHash,
  logIndex,
  blockTimestamp,
  topics,
}: Record<string, unknown>): string | null {
  if (!is(ADDRESS, address)) return 'address';
  if (!is(BYTES, data)) return 'data';
  if (!is(HASH, blockHash)) return 'block hash';
  if (!is(HASH, transactionHash)) return 'transaction hash';
  if (quantityOf(logIndex) === null) return 'index';
  if (
    blockTimestamp !== undefined &&
    blockTimestamp !== null &&
    quantityOf(blockTimestamp) === null
  ) {
    return 'time that is one';
  }
  return Array.isArray(topics) && topics.every((topic) => is(HASH, topic)) ? null : 'topics';
}

const is = (pattern: RegExp, value: unknown): boolean =>
  typeof value === 'string' && pattern.test(value);
