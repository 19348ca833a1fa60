/** What a failed call says of the endpoint that was asked, by viem's structure: codes, statuses and classes, no words. */
import {
  BaseError,
  HttpRequestError,
  ResponseBodyTooLargeError,
  RpcRequestError,
  TimeoutError,
} from 'viem';
import type { Trouble } from './endpoint-health.ts';
import { NotThereYet } from './log-shape.ts';

export type Verdict =
  /** The call ran and reverted: any other endpoint would say the same. */
  | { tag: 'reverted' }
  /** The endpoint answers; this call it refuses, which another one may not. */
  | { tag: 'refused' }
  /** It does not have yet what is asked for, which says nothing against it. */
  | { tag: 'lacking' }
  | Trouble;

const EXECUTION_REVERTED = 3;
/** Error codes by which providers rate-limit inside a 200. */
export const RATE_CODES: ReadonlySet<number> = new Set([429, -32_005, -32_016, -32_097]);
/** Statuses by which a gateway refuses the form or size of one request. */
const REFUSED_FORM: ReadonlySet<number> = new Set([400, 405, 413, 415]);

/** @param method the codes of a rate limit are, for logs, those of a range with too many of them as well */
export function verdictOf(error: unknown, method: string): Verdict {
  if (error instanceof NotThereYet) return { tag: 'lacking' };
  if (!(error instanceof BaseError)) return { tag: 'fault' };
  const found = error.walk(
    (cause) =>
      cause instanceof RpcRequestError ||
      cause instanceof HttpRequestError ||
      cause instanceof TimeoutError ||
      cause instanceof ResponseBodyTooLargeError,
  );
  if (found instanceof TimeoutError) return { tag: 'late' };
  if (found instanceof ResponseBodyTooLargeError) return { tag: 'refused' };
  if (found instanceof RpcRequestError) return verdictOfAnswer(found, method);
  if (!(found instanceof HttpRequestError)) return { tag: 'fault' };
  if (found.status === 429) return limited(found.headers);
  return found.status !== undefined && REFUSED_FORM.has(found.status)
    ? { tag: 'refused' }
    : { tag: 'fault' };
}

function verdictOfAnswer(answer: RpcRequestError, method: string): Verdict {
  if (answer.code === EXECUTION_REVERTED || carriesHex(answer.data)) return { tag: 'reverted' };
  const isLimit = isRateLimit(answer) || (method !== 'eth_getLogs' && RATE_CODES.has(answer.code));
  return isLimit ? limited(answer.headers) : { tag: 'refused' };
}

/** Too many calls, whatever they ask for; other codes of RATE_CODES stand for too many logs as well. */
export const isRateLimit = ({ code, status }: RpcRequestError): boolean =>
  status === 429 || code === 429;

/** Nodes put revert data either as hex or inside an object. */
function carriesHex(data: unknown): boolean {
  if (typeof data === 'string') return data.startsWith('0x');
  return typeof data === 'object' && data !== null && 'data' in data && carriesHex(data.data);
}

function limited(headers: Headers | undefined): Trouble {
  const seconds = Number(headers?.get('retry-after') ?? Number.NaN);
  return {
    tag: 'rate_limited',
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1_000 : null,
  };
}
