/** Whether what a node tells of logs is that: whole logs, of the blocks that were asked for. */
import { BaseError } from 'viem';

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
  return { from: numbered(fromBlock) ?? 0, to: numbered(toBlock) ?? Number.POSITIVE_INFINITY };
}

/** What is wrong with these logs; null: nothing. */
export function faultOfLogs(logs: unknown, { from, to }: BlockRange): string | null {
  if (!Array.isArray(logs)) return 'it is no list';
  let last: unknown = null;
  for (const log of logs as unknown[]) {
    if (typeof log !== 'object' || log === null) return 'a log is no object';
    const { blockNumber } = log as { blockNumber?: unknown };
    if (blockNumber !== last) {
      const block = numbered(blockNumber);
      if (block === null) return 'a log has no block number';
      if (block < from || block > to) return `a log of block ${block} was not asked for`;
      last = blockNumber;
    }
    const missing = missingOf(log as Record<string, unknown>);
    if (missing !== null) return `a log has no ${missing}`;
  }
  return null;
}

/** As every node writes it; topics are compared as text. */
const LOWER_HEX = /^0x[0-9a-f]*$/;
const TEXTS = ['address', 'data', 'blockHash', 'transactionHash'] as const;

function missingOf(log: Record<string, unknown>): string | null {
  for (const name of TEXTS) if (typeof log[name] !== 'string') return name;
  if (numbered(log['logIndex']) === null) return 'logIndex';
  const { topics } = log;
  return Array.isArray(topics) &&
    topics.every((topic) => typeof topic === 'string' && LOWER_HEX.test(topic))
    ? null
    : 'topics';
}

/** Of a quantity as JSON-RPC writes it; null: it is none. */
function numbered(quantity: unknown): number | null {
  if (typeof quantity !== 'string' || !quantity.startsWith('0x')) return null;
  const number = Number(quantity);
  return Number.isSafeInteger(number) ? number : null;
}
