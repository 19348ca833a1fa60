/** Whether what a node tells of logs is that: whole logs, of the blocks that were asked for. */
import { BaseError } from 'viem';
import { quantityOf } from './quantity.ts';

/** Of blocks, both ends included; `Infinity` where they were not named by number. */
export type BlockRange = { from: number; to: number };

/** The endpoint answers what no node may: another one is asked. */
export class MalformedLogs extends BaseError {
  /** A list with something wrong in it: a shorter range would not help. It may where there is no list at all. */
  readonly isList: boolean;

  constructor(what: string, isList: boolean) {
    super(`The endpoint's answer to eth_getLogs is malformed: ${what}.`, { name: 'MalformedLogs' });
    this.isList = isList;
  }
}

/** The endpoint does not have the last block of the range: what it told of it would be told without that. */
export class NotThereYet extends BaseError {
  constructor(endpoint: string, block: number) {
    super(`${endpoint} does not have block ${block} yet.`, { name: 'NotThereYet' });
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
  if (fault !== null) throw new MalformedLogs(fault, Array.isArray(logs));
}

/** What is wrong with these logs; null: nothing. */
export function faultOfLogs(logs: unknown, { from, to }: BlockRange): string | null {
  if (!Array.isArray(logs)) return 'it is no list';
  const blocks = new Map<number, BlockTold>();
  const places = new Places();
  // Nothing that a log may say.
  let last: unknown = Symbol('none');
  let block = -1;
  for (const each of logs as unknown[]) {
    if (typeof each !== 'object' || each === null) return 'a log is no object';
    const log = each as Record<string, unknown>;
    const { blockNumber } = log;
    if (blockNumber !== last) {
      const number = quantityOf(blockNumber);
      if (number === null) return 'a log has no block number';
      if (number < from || number > to) return `a log of block ${number} was not asked for`;
      [block, last] = [number, blockNumber];
    }
    const missing = missingOf(log);
    if (missing !== null) return `a log has no ${missing}`;
    // Of a block that was replaced, another may stand in its place.
    if (log.removed === true) continue;
    if (contradicts(blocks, block, log))
      return `two logs of block ${block} are of different blocks`;
    if (places.isTaken(block, log)) return `two logs of block ${block} have one index`;
  }
  return null;
}

type BlockTold = { hash: unknown; time: number | null };

/** Whether the log tells its block's hash or time otherwise than those before it. */
function contradicts(
  blocks: Map<number, BlockTold>,
  block: number,
  { blockHash, blockTimestamp }: Record<string, unknown>,
): boolean {
  const told = blocks.get(block);
  const time = timeTold(blockTimestamp);
  if (told === undefined) {
    blocks.set(block, { hash: blockHash, time });
    return false;
  }
  told.time ??= time;
  return told.hash !== blockHash || (time !== null && told.time !== time);
}

/** Unix seconds as a log tells them of its block; null where it does not, or is of a node that writes zero then. */
export function timeTold(blockTimestamp: unknown): number | null {
  const time = quantityOf(blockTimestamp);
  return time === 0 ? null : time;
}

/** Block and index of each log: a log may be told twice, and no two share a place. */
class Places {
  /** Those so far, in the order that nearly every node keeps; then nothing need be looked up. */
  readonly #inOrder: Record<string, unknown>[] = [];
  #byPlace: Map<string, Record<string, unknown>> | null = null;
  #block = -1;
  #index = -1;

  isTaken(block: number, log: Record<string, unknown>): boolean {
    const index = quantityOf(log.logIndex) ?? -1;
    if (this.#byPlace === null) {
      if (block > this.#block || (block === this.#block && index > this.#index)) {
        [this.#block, this.#index] = [block, index];
        this.#inOrder.push(log);
        return false;
      }
      this.#byPlace = new Map(this.#inOrder.map((each) => [placeOf(each), each]));
    }
    const place = placeOf(log);
    const there = this.#byPlace.get(place);
    if (there === undefined) this.#byPlace.set(place, log);
    return there !== undefined && !isSameLog(there, log);
  }
}

const placeOf = ({ blockNumber, logIndex }: Record<string, unknown>): string =>
  `${quantityOf(blockNumber)} ${quantityOf(logIndex)}`;

/** Of the same block and index. */
const isSameLog = (a: Record<string, unknown>, b: Record<string, unknown>): boolean =>
  a.transactionHash === b.transactionHash &&
  String(a.address).toLowerCase() === String(b.address).toLowerCase() &&
  String(a.data).toLowerCase() === String(b.data).toLowerCase() &&
  String(a.topics) === String(b.topics);

/** As every node writes them; topics are compared as text. */
export const HASH = /^0x[0-9a-f]{64}$/;
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
  // Some nodes write a number: that is no time told, and the block's header is read for it.
  if (typeof blockTimestamp === 'string' && quantityOf(blockTimestamp) === null) {
    return 'time that is one';
  }
  return Array.isArray(topics) && topics.every((topic) => is(HASH, topic)) ? null : 'topics';
}

export const is = (pattern: RegExp, value: unknown): boolean =>
  typeof value === 'string' && pattern.test(value);
