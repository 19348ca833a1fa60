/** One range of logs in chain order, each with its block's time; and what a refusal says about the range. */
import {
  type Address,
  BaseError,
  type Hex,
  HttpRequestError,
  numberToHex,
  type PublicClient,
  type RpcLog,
} from 'viem';
import { HeldLogs, parseLogs } from './held-logs.ts';
import { AnswerCutOff } from './keep-alive-fetch.ts';
import { MalformedLogs } from './log-shape.ts';

export type IndexedLog = {
  /** Lower case, as in every table that does not say otherwise. */
  address: Address;
  topics: readonly Hex[];
  data: Hex;
  block: number;
  /** Of the block, unix seconds. */
  time: number;
  blockHash: Hex;
  logIndex: number;
  transactionHash: Hex;
};

export type LogFilter = {
  addresses: readonly Address[];
  /** First topics, any of them. */
  topics: readonly Hex[];
};

/** Takes apart elsewhere what came as bytes; null where it did not, and then the bytes are there as before. */
type Elsewhere<T> = (held: HeldLogs) => Promise<T | null>;

type ReadOptions<T> = {
  /** Whether blocks whose time the node does not tell with the log are read for it; otherwise it is 0 there. */
  times?: boolean | undefined;
  elsewhere?: Elsewhere<T> | undefined;
};

/** @throws what the client throws, see {@link saysNothingOfTheRange}, and what `elsewhere` does. */
export async function readLogs<T = never>(
  client: PublicClient,
  filter: LogFilter,
  from: number,
  to: number,
  { times = true, elsewhere }: ReadOptions<T> = {},
): Promise<IndexedLog[] | T> {
  const asked = {
    address: [...filter.addresses],
    topics: [[...filter.topics]],
    fromBlock: numberToHex(from),
    toBlock: numberToHex(to),
  };
  const ask = async (how: { unheld?: boolean }): Promise<RpcLog[] | HeldLogs> =>
    await client.request({ method: 'eth_getLogs', params: [asked], ...how });
  let told = await ask({});
  if (told instanceof HeldLogs) {
    const done = await elsewhere?.(told);
    if (done !== null && done !== undefined) return done;
    told = parseLogs(told.bytes, told.range) ?? (await ask({ unheld: true }));
  }
  const found = standing(told as RpcLog[]);
  return indexedLogs(found, times ? await blockTimes(client, found) : new Map<number, number>());
}

/** Those of blocks that were not replaced. */
export const standing = (logs: readonly RpcLog[]): RpcLog[] => logs.filter((log) => !log.removed);

/** In chain order, each once. @param times unix seconds by block */
export function indexedLogs(
  logs: readonly RpcLog[],
  times: ReadonlyMap<number, number>,
): IndexedLog[] {
  return logs
    .map((log) => ({
      address: log.address.toLowerCase() as Address,
      topics: log.topics,
      data: log.data,
      block: Number(log.blockNumber),
      blockHash: log.blockHash ?? '0x',
      logIndex: Number(log.logIndex),
      transactionHash: log.transactionHash ?? '0x',
      time: times.get(Number(log.blockNumber)) ?? 0,
    }))
    .sort(inChainOrder)
    .filter((log, at, all) => !isSame(log, all[at - 1]));
}

/** A node that tells a log twice must not have it counted twice. */
const isSame = (log: IndexedLog, before: IndexedLog | undefined): boolean =>
  before !== undefined &&
  before.logIndex === log.logIndex &&
  before.block === log.block &&
  before.blockHash === log.blockHash;

export function inChainOrder(a: IndexedLog, b: IndexedLog): number {
  return a.block - b.block || a.logIndex - b.logIndex;
}

/**
 * No connection, a rate limit, or logs that are none: asking for less would not help. It may where an answer breaks off
 * or cannot be parsed: a gateway between may let no more through.
 */
export function saysNothingOfTheRange(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  if (error instanceof MalformedLogs) return true;
  const fault = error.walk((cause) => cause instanceof HttpRequestError);
  if (!(fault instanceof HttpRequestError)) return false;
  if (fault.status !== undefined) return fault.status === 429;
  return error.walk(isOfTheBody) === null;
}

const isOfTheBody = (cause: unknown): boolean =>
  cause instanceof SyntaxError || cause instanceof AnswerCutOff;

/** Unix seconds by block: told with the log by most nodes, otherwise read from the headers. */
async function blockTimes(
  client: PublicClient,
  logs: readonly RpcLog[],
): Promise<Map<number, number>> {
  const { times, untold } = timesTold(logs);
  if (untold.length > 0) await fillTimes(client, untold, times);
  return times;
}

/** Unix seconds by block as the logs tell them, and the blocks, in order, whose time they do not tell. */
export function timesTold(logs: readonly RpcLog[]): {
  times: Map<number, number>;
  untold: number[];
} {
  const times = new Map<number, number>();
  const untold = new Set<number>();
  let last: RpcLog['blockNumber'] = null;
  for (const log of logs) {
    // Most are of the block of the one before.
    if (log.blockNumber === last) continue;
    last = log.blockNumber;
    const block = Number(last);
    if (typeof log.blockTimestamp === 'string') times.set(block, Number(log.blockTimestamp));
    else untold.add(block);
  }
  return {
    times,
    untold: [...untold].filter((block) => !times.has(block)).sort((a, b) => a - b),
  };
}

/** Headers under way at once: public endpoints refuse more than about twenty calls. */
const HEADERS_AT_ONCE = 10;

/** Blocks between two of the same second are of that second too, so that few headers are read. */
async function fillTimes(
  client: PublicClient,
  blocks: readonly number[],
  times: Map<number, number>,
): Promise<void> {
  const [first] = blocks;
  const last = blocks.at(-1);
  if (first === undefined || last === undefined) return;
  const [opens, closes] = await Promise.all([timeOf(client, first), timeOf(client, last)]);
  times.set(first, opens).set(last, closes);
  const spans = [{ low: 0, high: blocks.length - 1 }];
  const halve = async ({ low, high }: { low: number; high: number }): Promise<void> => {
    const from = times.get(blocks[low] ?? 0) ?? 0;
    const inner = blocks.slice(low + 1, high);
    if (inner.length === 0) return;
    if (from === times.get(blocks[high] ?? 0)) {
      for (const block of inner) times.set(block, from);
      return;
    }
    const middle = (low + high) >> 1;
    const block = blocks[middle] ?? 0;
    times.set(block, await timeOf(client, block));
    spans.push({ low, high: middle }, { low: middle, high });
  };
  while (spans.length > 0) await Promise.all(spans.splice(-HEADERS_AT_ONCE).map(halve));
}

async function timeOf(client: PublicClient, block: number): Promise<number> {
  const { timestamp } = await client.getBlock({ blockNumber: BigInt(block) });
  return Number(timestamp);
}
