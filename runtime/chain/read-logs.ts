/** One range of logs in chain order, each with its block's time; and what a refusal says about the range. */
import {
  type Address,
  BaseError,
  type Hex,
  HttpRequestError,
  numberToHex,
  type PublicClient,
  type RpcLog,
  RpcRequestError,
} from 'viem';
import { HeldLogs, parseLogs } from './held-logs.ts';
import { isRateLimit } from './endpoint-verdict.ts';
import { AnswerCutOff } from './keep-alive-fetch.ts';
import { MalformedLogs, NotThereYet, timeTold } from './log-shape.ts';

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
 * No connection, a rate limit, a node that lags or tells no logs, or logs with something wrong in them: asking for less
 * would not help.
 * It may where an answer breaks off, cannot be parsed or is no list: a gateway between may let no more through.
 */
export function saysNothingOfTheRange(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  if (error instanceof MalformedLogs) return error.isList;
  if (error instanceof NotThereYet || isLimit(error)) return true;
  const answer = error.walk((cause) => cause instanceof RpcRequestError);
  if (answer instanceof RpcRequestError) return NO_SUCH_METHOD.has(answer.code);
  const fault = error.walk((cause) => cause instanceof HttpRequestError);
  if (!(fault instanceof HttpRequestError) || fault.status !== undefined) return false;
  return error.walk(isOfTheBody) === null;
}

/** Too many calls, says the endpoint; but some say so of too long a range too. */
export function isLimit(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  const found = error.walk(
    (cause) => cause instanceof RpcRequestError || cause instanceof HttpRequestError,
  );
  if (found instanceof RpcRequestError) return isRateLimit(found);
  return found instanceof HttpRequestError && found.status === 429;
}

/** EIP-1474: it tells no logs at all. */
const NO_SUCH_METHOD: ReadonlySet<number> = new Set([-32_601, -32_004]);

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

type BlockId = { block: number; hash: Hex };

/** Unix seconds by block as the logs tell them, and the blocks, in order, whose time they do not tell. */
export function timesTold(logs: readonly RpcLog[]): {
  times: Map<number, number>;
  untold: BlockId[];
} {
  const times = new Map<number, number>();
  const untold = new Map<number, BlockId>();
  let last: RpcLog['blockNumber'] = null;
  for (const log of logs) {
    // Most are of the block of the one before.
    if (log.blockNumber === last) continue;
    const block = Number(log.blockNumber);
    const time = timeTold(log.blockTimestamp);
    if (time === null) untold.set(block, { block, hash: log.blockHash ?? '0x' });
    else {
      times.set(block, time);
      last = log.blockNumber;
    }
  }
  return {
    times,
    untold: [...untold.values()]
      .filter(({ block }) => !times.has(block))
      .sort((a, b) => a.block - b.block),
  };
}

/** Headers under way at once: public endpoints refuse more than about twenty calls. */
const HEADERS_AT_ONCE = 10;

/** Blocks between two of the same second are of that second too, so that few headers are read. */
async function fillTimes(
  client: PublicClient,
  blocks: readonly BlockId[],
  times: Map<number, number>,
): Promise<void> {
  const read = async (at: BlockId | undefined): Promise<void> => {
    if (at !== undefined) times.set(at.block, await timeOf(client, at));
  };
  const timeAt = (index: number): number | undefined => times.get(blocks[index]?.block ?? -1);
  await Promise.all([read(blocks[0]), read(blocks.at(-1))]);
  const spans = [{ low: 0, high: blocks.length - 1 }];
  const halve = async ({ low, high }: { low: number; high: number }): Promise<void> => {
    const from = timeAt(low);
    const inner = blocks.slice(low + 1, high);
    if (inner.length === 0 || from === undefined) return;
    if (from === timeAt(high)) {
      for (const { block } of inner) times.set(block, from);
      return;
    }
    const middle = (low + high) >> 1;
    await read(blocks[middle]);
    spans.push({ low, high: middle }, { low: middle, high });
  };
  while (spans.length > 0) await Promise.all(spans.splice(-HEADERS_AT_ONCE).map(halve));
}

/** By hash: at its height another block may stand, and an endpoint of another fork would tell that one's time. */
async function timeOf(client: PublicClient, { hash }: BlockId): Promise<number> {
  const { timestamp } = await client.getBlock({ blockHash: hash });
  return Number(timestamp);
}
