/**
 * Large answers of `eth_getLogs` as the bytes that came: to parse ten thousand logs stops the process for as long as
 * some hundred requests take, and whoever asked may have that done elsewhere (api/indexer/bulk-logs.ts).
 */
import {
  type EIP1193RequestFn,
  http,
  type HttpTransportConfig,
  type RpcLog,
  type Transport,
} from 'viem';
import { steadyNow } from '../clock.ts';
import { type Ask, checkingAnswers } from './answer-shape.ts';
import { fetchWith, textOf } from './keep-alive-fetch.ts';
import { type BlockRange, checkLogs, faultOfLogs, rangeOf } from './log-shape.ts';

/** Stands for what is held while the answer is on its way through the transport. */
const HELD = 'held';
const STAND_IN = JSON.stringify({ jsonrpc: '2.0', id: 1, result: HELD });
/** Of an answer, where its result has to begin. */
const OPENING_BYTES = 256;
const LOGS_BEGIN = /"result"\s*:\s*\[/;
const CLOSING_BYTES = 16;
/** After an answer that could not be read: only what the transport reads itself is held against its endpoint. */
const WARY_MS = 60_000;

/** What a node told of logs, as it came. */
export class HeldLogs {
  /** In a buffer of their own: who hands it to another thread puts back what comes back. */
  bytes: Uint8Array<ArrayBuffer>;
  /** What was asked for. */
  readonly range: BlockRange;

  constructor(bytes: Uint8Array<ArrayBuffer>, range: BlockRange) {
    this.bytes = bytes;
    this.range = range;
  }
}

/** Null where an answer is no list of logs of this range: a refusal, or broken. */
export function parseLogs(bytes: Uint8Array, range: BlockRange): RpcLog[] | null {
  try {
    const { result, error } = JSON.parse(textOf(bytes)) as { result?: RpcLog[]; error?: unknown };
    return result === undefined || error || faultOfLogs(result, range) !== null ? null : result;
  } catch {
    // expected of an endpoint at fault: asked for it unheld, the transport finds out and says so
    return null;
  }
}

/**
 * viem's HTTP transport, but that an answer of `eth_getLogs` of so many bytes comes as {@link HeldLogs}. What is not a
 * whole list of logs by its first and last bytes is parsed at once, and is the endpoint's fault then. So is everything
 * where the call says `unheld`, and for a while after one that this endpoint failed.
 */
export function httpHoldingLogs(
  url: string,
  config: HttpTransportConfig,
  heldFrom: number,
): Transport {
  const plain = checkingAnswers(http(url, config));
  let waryUntil = Number.NEGATIVE_INFINITY;
  return (parameters) => {
    const transport = plain(parameters);
    const ask = transport.request as Ask;
    const askLogs: Ask = async (call, options) => {
      let held: Buffer | null = null;
      const hold = (body: Buffer): string => {
        held = body.length >= heldFrom && isOfLogs(body) ? body : null;
        return held === null ? textOf(body) : STAND_IN;
      };
      const holding = http(url, {
        ...config,
        fetchFn: (input, init) => fetchWith(hold, input, init),
      });
      const result = await (holding(parameters).request as Ask)(call, options);
      if (held === null) checkLogs(result, call.params);
      return held !== null && result === HELD
        ? new HeldLogs(ownBytes(held), rangeOf(call.params))
        : result;
    };
    const askUnheld: Ask = async (call, options) => {
      try {
        return await ask(call, options);
      } catch (error) {
        if (options?.signal?.aborted !== true) waryUntil = steadyNow() + WARY_MS;
        throw error;
      }
    };
    const request: Ask = (call, options) => {
      if (call.unheld === true) return askUnheld(call, options);
      const isHeld = call.method === 'eth_getLogs' && steadyNow() > waryUntil;
      return isHeld ? askLogs(call, options) : ask(call, options);
    };
    return { ...transport, request: request as EIP1193RequestFn };
  };
}

function isOfLogs(body: Buffer): boolean {
  const opening = body.toString('latin1', 0, OPENING_BYTES);
  const closing = body.toString('latin1', body.length - CLOSING_BYTES).trimEnd();
  return LOGS_BEGIN.test(opening) && closing.endsWith('}');
}

/** A buffer may share its memory with others. */
function ownBytes(body: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = body;
  return buffer instanceof ArrayBuffer && buffer.byteLength === body.length
    ? new Uint8Array(buffer)
    : new Uint8Array(body);
}
