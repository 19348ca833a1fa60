/**
 * Whether what an endpoint answers is an answer at all, by the method. A gateway at fault may say `null`, nothing, or
 * half of a block with status 200, and would be taken for a chain that is empty.
 */
import { BaseError, type EIP1193RequestFn, type Transport } from 'viem';
import { checkLogs, HASH, is } from './log-shape.ts';
import { quantityOf } from './quantity.ts';

type Call = { method: string; params?: unknown };
/** `unheld`: see held-logs.ts. */
export type Ask = (
  call: Call & { unheld?: boolean },
  options?: { signal?: AbortSignal },
) => Promise<unknown>;

/** The endpoint answers what no node may: another one is asked. */
export class MalformedAnswer extends BaseError {
  constructor(method: string, what: string) {
    super(`The endpoint's answer to ${method} is malformed: ${what}.`, { name: 'MalformedAnswer' });
  }
}

const QUANTITIES: ReadonlySet<string> = new Set([
  'eth_blockNumber',
  'eth_chainId',
  'eth_estimateGas',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getTransactionCount',
]);
/** Of any size. */
const QUANTITY = /^0x[0-9a-f]+$/i;
const OF_BYTES: ReadonlySet<string> = new Set(['eth_call', 'eth_getCode']);
/** Selector of Multicall3's `aggregate3`, which returns a list even of no calls. */
const AGGREGATE3 = '0x82ad56cb';

/** The transport, but that what is no answer is the endpoint's fault. */
export function checkingAnswers(transport: Transport): Transport {
  return (parameters) => {
    const made = transport(parameters);
    const ask = made.request as Ask;
    const request: Ask = async (call, options) => {
      const result = await ask(call, options);
      checkAnswer(call, result);
      return result;
    };
    return { ...made, request: request as EIP1193RequestFn };
  };
}

/** @throws MalformedLogs, MalformedAnswer */
export function checkAnswer(call: Call, result: unknown): void {
  if (call.method === 'eth_getLogs') return checkLogs(result, call.params);
  const fault = faultOf(call, result);
  if (fault !== null) throw new MalformedAnswer(call.method, fault);
}

/** Of a block that was asked for by number or hash: the number or hash; null where this call asks for none such. */
export function blockAskedFor({ method, params }: Call): number | string | null {
  const [which] = Array.isArray(params) ? (params as unknown[]) : [];
  if (method === 'eth_getBlockByNumber') return quantityOf(which);
  return method === 'eth_getBlockByHash' && typeof which === 'string' ? which : null;
}

function faultOf(call: Call, result: unknown): string | null {
  const { method, params } = call;
  if (result === undefined) return 'it has no result';
  if (QUANTITIES.has(method)) return is(QUANTITY, result) ? null : 'it is no quantity';
  if (OF_BYTES.has(method)) {
    if (!isOfBytes(result)) return 'it is no bytes';
    return result === '0x' && isAggregate(params) ? 'it is empty' : null;
  }
  return method.startsWith('eth_getBlockBy') ? faultOfBlock(call, result) : null;
}

function faultOfBlock(call: Call, block: unknown): string | null {
  const asked = blockAskedFor(call);
  const [tag] = Array.isArray(call.params) ? (call.params as unknown[]) : [];
  if (tag === 'pending') return null;
  // Who does not have a block says so with null; a chain without a head is none.
  if (block === null) return tag === 'latest' ? 'there is no block' : null;
  if (typeof block !== 'object') return 'it is no block';
  const { number, timestamp, hash, parentHash } = block as Record<string, unknown>;
  if (quantityOf(number) === null || quantityOf(timestamp) === null) {
    return 'a block has no number or time';
  }
  if (!is(HASH, hash) || !is(HASH, parentHash)) return 'a block has no hash or parent';
  if (typeof asked === 'number' && quantityOf(number) !== asked) return 'it is another block';
  return typeof asked === 'string' && hash !== asked.toLowerCase() ? 'it is another block' : null;
}

function isAggregate(params: unknown): boolean {
  const [call] = Array.isArray(params) ? (params as unknown[]) : [];
  const { data, input } = (call ?? {}) as { data?: unknown; input?: unknown };
  return [data, input].some((text) => typeof text === 'string' && text.startsWith(AGGREGATE3));
}

/** By its ends alone: answers of a megabyte come many times a second, and who decodes one sees the rest. */
const isOfBytes = (value: unknown): boolean =>
  typeof value === 'string' && value.startsWith('0x') && value.length % 2 === 0;
